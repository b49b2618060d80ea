//! Words and phrases that a deployment neither takes in nor gives out.
//!
//! A phrase is found whatever its case and form ([`fold`](mod@crate::fold)), with any white space between
//! its words and with invisible characters in it. It is found as whole words: `ass` is not in `class`. A
//! `*` at its beginning or its end lets it be the rest of a longer word. Scripts that are
//! written without spaces between words ([`is_written_without_spaces`]) have no such bounds, and a space
//! after one of their characters says nothing.
//!
//! All phrases are looked for at once (Aho and Corasick, 1975), so that a text costs its length alone.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

use crate::fold::{fold_character, is_combining_mark, is_written_without_spaces};

/// Phrases of a list.
pub const MAX_PHRASES: usize = 500;

/// Characters of a phrase.
pub const MAX_PHRASE: usize = 100;

/// The phrases that are denied. Clones share them.
#[derive(Clone, Default)]
pub struct DenyList(Option<Arc<PhraseMatcher>>);

/// Every phrase in one automaton over the bytes of folded characters.
struct PhraseMatcher {
    phrases: Vec<Phrase>,
    automaton: NFA,
    start: StateID,
    /// How many characters of a phrase have been matched in each state.
    depths: HashMap<StateID, usize>,
    /// Characters of the longest phrase.
    longest: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Phrase {
    characters: Vec<char>,
    begins_word: bool,
    ends_word: bool,
}

/// What of a list cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DenyListError {
    /// The list has more than [`MAX_PHRASES`] phrases.
    #[error("at most {MAX_PHRASES} phrases")]
    TooMany,
    /// A phrase says nothing or too much; its place, from 1.
    #[error("phrases of 1 to {MAX_PHRASE} characters; number {0} is not")]
    Phrase(usize),
}

impl DenyList {
    /// The list of these phrases.
    ///
    /// # Errors
    /// [`DenyListError`] says which cannot be used.
    pub fn new<S: AsRef<str>>(phrases: &[S]) -> Result<Self, DenyListError> {
        if phrases.len() > MAX_PHRASES {
            return Err(DenyListError::TooMany);
        }
        let phrase = |(nth, text): (usize, &S)| {
            Phrase::parse(text.as_ref()).ok_or(DenyListError::Phrase(nth + 1))
        };
        let phrases: Result<Vec<Phrase>, DenyListError> =
            phrases.iter().enumerate().map(phrase).collect();
        let phrases = phrases?;
        if phrases.is_empty() {
            return Ok(Self::default());
        }
        PhraseMatcher::new(phrases)
            .map(|matcher| Self(Some(Arc::new(matcher))))
            .ok_or(DenyListError::TooMany)
    }

    /// Whether nothing is denied.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a phrase is in a text.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        let mut gate = DenyFilter::new(self.clone());
        gate.push(text);
        gate.finish();
        gate.is_blocked()
    }

    fn phrases(&self) -> &[Phrase] {
        self.0.as_ref().map_or(&[], |matcher| &matcher.phrases)
    }
}

impl PartialEq for DenyList {
    fn eq(&self, other: &Self) -> bool {
        self.phrases() == other.phrases()
    }
}

impl Eq for DenyList {}

impl fmt::Debug for DenyList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DenyList({} phrases)", self.phrases().len())
    }
}

impl PhraseMatcher {
    /// `None` if the automaton would be larger than any list is.
    fn new(phrases: Vec<Phrase>) -> Option<Self> {
        let texts = phrases.iter().map(|phrase| phrase.characters.iter().collect::<String>());
        let automaton =
            NFA::builder().match_kind(MatchKind::Standard).prefilter(false).build(texts).ok()?;
        let start = automaton.start_state(Anchored::No).ok()?;
        let longest = phrases.iter().map(|phrase| phrase.characters.len()).max()?;
        let mut matcher = Self { phrases, automaton, start, depths: HashMap::new(), longest };
        matcher.depths = matcher.measure_depths();
        Some(matcher)
    }

    fn measure_depths(&self) -> HashMap<StateID, usize> {
        let mut depths = HashMap::new();
        for phrase in &self.phrases {
            let mut state = self.start;
            for (nth, character) in phrase.characters.iter().enumerate() {
                state = self.next_state(state, *character);
                depths.insert(state, nth + 1);
            }
        }
        depths
    }

    fn next_state(&self, state: StateID, character: char) -> StateID {
        let mut bytes = [0; 4];
        let step = |state, byte| self.automaton.next_state(Anchored::No, state, byte);
        character.encode_utf8(&mut bytes).bytes().fold(state, step)
    }

    /// How many of the newest characters may be the beginning of a phrase, or are one.
    fn matched_depth(&self, state: StateID) -> usize {
        self.depths.get(&state).copied().unwrap_or_default()
    }

    /// The phrases that end in this state.
    fn phrases_ending_at(&self, state: StateID) -> impl Iterator<Item = &Phrase> {
        let count = match self.automaton.is_match(state) {
            true => self.automaton.match_len(state),
            false => 0,
        };
        (0..count).filter_map(move |nth| {
            self.phrases.get(self.automaton.match_pattern(state, nth).as_usize())
        })
    }
}

impl Phrase {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (begins_word, text) = split_wildcard(text, text.strip_prefix('*'));
        let (ends_word, text) = split_wildcard(text, text.strip_suffix('*'));
        let text = text.trim();
        let mut characters = Vec::new();
        for character in text.chars().flat_map(fold_character) {
            if character != ' ' || !swallows_space(characters.last()) {
                characters.push(character);
            }
        }
        let (first, last) = (*characters.first()?, *characters.last()?);
        (text.chars().count() <= MAX_PHRASE).then(|| Self {
            begins_word: begins_word && is_word_character(first),
            ends_word: ends_word && is_word_character(last),
            characters,
        })
    }
}

fn split_wildcard<'a>(text: &'a str, lifted: Option<&'a str>) -> (bool, &'a str) {
    (lifted.is_none(), lifted.unwrap_or(text))
}

/// Whether a space behind this character says nothing: it follows another one, or stands where a script
/// has none.
fn swallows_space(before: Option<&char>) -> bool {
    before.is_some_and(|before| *before == ' ' || is_written_without_spaces(*before))
}

/// Whether a character is part of a word that has bounds.
fn is_word_character(character: char) -> bool {
    (character.is_alphanumeric() || is_combining_mark(character))
        && !is_written_without_spaces(character)
}

/// Lets a text through piece by piece, and nothing of a denied phrase: what may be the beginning of
/// one is held back until it is known not to be. Once a phrase was found, nothing passes any more.
#[derive(Debug, Clone)]
pub struct DenyFilter {
    list: DenyList,
    /// How much of which phrases the text ends in.
    state: Option<StateID>,
    /// Whether it ends in a whole phrase that only a word going on could excuse.
    ends_in_phrase: bool,
    /// The newest characters as they are compared, with where they begin in the text.
    newest: VecDeque<(char, usize)>,
    held: String,
    passed_bytes: usize,
    is_blocked: bool,
}

impl DenyFilter {
    /// A gate before the first character.
    #[must_use]
    pub fn new(list: DenyList) -> Self {
        let state = list.0.as_ref().map(|matcher| matcher.start);
        Self {
            list,
            state,
            ends_in_phrase: false,
            newest: VecDeque::new(),
            held: String::new(),
            passed_bytes: 0,
            is_blocked: false,
        }
    }

    /// Whether a denied phrase was found.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Takes the next piece and gives what of the text may be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        if self.is_blocked {
            return String::new();
        }
        let Some(matcher) = self.list.0.clone() else { return piece.to_owned() };
        let start = self.passed_bytes + self.held.len();
        self.held.push_str(piece);
        for (at, character) in piece.char_indices() {
            for folded in fold_character(character) {
                self.match_character(&matcher, folded, start + at);
            }
            if self.is_blocked {
                self.held.clear();
                return String::new();
            }
        }
        let open = self.state.map_or(0, |state| matcher.matched_depth(state));
        let first = self.newest.len().checked_sub(open).and_then(|nth| self.newest.get(nth));
        let until = first.filter(|_| open > 0).map_or(start + piece.len(), |(_, at)| *at);
        let rest =
            self.held.split_off(until.saturating_sub(self.passed_bytes).min(self.held.len()));
        let shown = std::mem::replace(&mut self.held, rest);
        self.passed_bytes += shown.len();
        shown
    }

    /// The rest of the text, now that it has ended.
    pub fn finish(&mut self) -> String {
        self.is_blocked |= self.ends_in_phrase;
        let rest = std::mem::take(&mut self.held);
        if self.is_blocked { String::new() } else { rest }
    }

    fn match_character(&mut self, matcher: &PhraseMatcher, character: char, at: usize) {
        let newest = self.newest.back().map(|(newest, _)| newest);
        if character == ' ' && swallows_space(newest) {
            return;
        }
        self.newest.push_back((character, at));
        if self.newest.len() > matcher.longest + 2 {
            self.newest.pop_front();
        }
        self.is_blocked |= self.ends_in_phrase && !is_word_character(character);
        self.ends_in_phrase = false;
        let state = matcher.next_state(self.state.unwrap_or(matcher.start), character);
        self.state = Some(state);
        for phrase in matcher.phrases_ending_at(state) {
            let before = self.newest.len().checked_sub(phrase.characters.len() + 1);
            let before = before.and_then(|nth| self.newest.get(nth));
            let goes_on = before.is_some_and(|(before, _)| is_word_character(*before));
            let is_found = !(phrase.begins_word && goes_on);
            self.is_blocked |= is_found && !phrase.ends_word;
            self.ends_in_phrase |= is_found && phrase.ends_word;
        }
    }
}
