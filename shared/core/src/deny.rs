//! Words and phrases that a deployment neither takes in nor gives out.
//!
//! A phrase is found whatever its case, in full-width letters too, with any white space between its
//! words and with invisible characters in it. It is found as whole words: `ass` is not in `class`. A
//! `*` at its beginning or its end lets it be the rest of a longer word. Scripts without spaces
//! between words have no such bounds.

use std::collections::VecDeque;
use std::sync::Arc;

/// Phrases of a list.
pub const MAX_PHRASES: usize = 500;

/// Characters of a phrase.
pub const MAX_PHRASE: usize = 100;

/// The phrases that are denied. Clones share them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DenyList(Arc<[Phrase]>);

#[derive(Debug, PartialEq, Eq)]
struct Phrase {
    characters: Vec<char>,
    /// For each length that has been matched, the next shorter one that may be as well (Knuth, Morris
    /// and Pratt).
    shorter: Vec<usize>,
    begins_word: bool,
    ends_word: bool,
}

/// What of a list cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadList {
    /// More than [`MAX_PHRASES`].
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
    /// [`BadList`] says which cannot be used.
    pub fn new<S: AsRef<str>>(phrases: &[S]) -> Result<Self, BadList> {
        if phrases.len() > MAX_PHRASES {
            return Err(BadList::TooMany);
        }
        let phrase =
            |(nth, text): (usize, &S)| Phrase::read(text.as_ref()).ok_or(BadList::Phrase(nth + 1));
        let phrases: Result<Vec<Phrase>, BadList> =
            phrases.iter().enumerate().map(phrase).collect();
        Ok(Self(phrases?.into()))
    }

    /// Whether nothing is denied.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a phrase is in a text.
    #[must_use]
    pub fn denies(&self, text: &str) -> bool {
        let mut gate = Gate::new(self.clone());
        gate.push(text);
        gate.finish();
        gate.is_shut()
    }
}

impl Phrase {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let (begins_word, text) = bound(text, text.strip_prefix('*'));
        let (ends_word, text) = bound(text, text.strip_suffix('*'));
        let mut characters = Vec::new();
        for character in text.trim().chars().flat_map(folded) {
            if character != ' ' || characters.last() != Some(&' ') {
                characters.push(character);
            }
        }
        let (first, last) = (*characters.first()?, *characters.last()?);
        (characters.len() <= MAX_PHRASE).then(|| Self {
            shorter: shorter(&characters),
            begins_word: begins_word && is_word(first),
            ends_word: ends_word && is_word(last),
            characters,
        })
    }

    /// How much of it is matched after this character, if `matched` was before.
    fn after(&self, mut matched: usize, character: char) -> usize {
        loop {
            if self.characters.get(matched) == Some(&character) {
                return matched + 1;
            }
            match matched.checked_sub(1).and_then(|last| self.shorter.get(last)) {
                Some(shorter) => matched = *shorter,
                None => return 0,
            }
        }
    }
}

fn bound<'a>(text: &'a str, lifted: Option<&'a str>) -> (bool, &'a str) {
    (lifted.is_none(), lifted.unwrap_or(text))
}

fn shorter(characters: &[char]) -> Vec<usize> {
    let mut shorter = vec![0; characters.len().min(1)];
    let mut matched = 0;
    for character in characters.iter().skip(1) {
        while matched > 0 && characters.get(matched) != Some(character) {
            matched = shorter.get(matched - 1).copied().unwrap_or_default();
        }
        matched += usize::from(characters.get(matched) == Some(character));
        shorter.push(matched);
    }
    shorter
}

/// A character as it is compared: none for those that cannot be seen.
fn folded(character: char) -> impl Iterator<Item = char> {
    let character = match character {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character)
        }
        other if other.is_whitespace() => ' ',
        other => other,
    };
    let is_seen = !matches!(character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{feff}');
    is_seen.then(|| character.to_lowercase()).into_iter().flatten()
}

/// Whether a character is part of a word that has bounds.
fn is_word(character: char) -> bool {
    let is_unbounded = matches!(character,
        '\u{e00}'..='\u{eff}' | '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    character.is_alphanumeric() && !is_unbounded
}

/// Lets a text through piece by piece, and nothing of a denied phrase: what may be the beginning of
/// one is held back until it is known not to be. Once a phrase was found, nothing passes any more.
#[derive(Debug, Clone)]
pub struct Gate {
    list: DenyList,
    /// How much of each phrase the text ends in, and whether that is a whole phrase that only a word
    /// going on could excuse.
    matched: Vec<(usize, bool)>,
    /// The newest characters as they are compared, with where they begin in the text.
    newest: VecDeque<(char, usize)>,
    held: String,
    passed: usize,
    is_shut: bool,
}

impl Gate {
    /// A gate before the first character.
    #[must_use]
    pub fn new(list: DenyList) -> Self {
        let matched = vec![(0, false); list.0.len()];
        let newest = VecDeque::new();
        Self { list, matched, newest, held: String::new(), passed: 0, is_shut: false }
    }

    /// Whether a denied phrase was found.
    #[must_use]
    pub fn is_shut(&self) -> bool {
        self.is_shut
    }

    /// Takes the next piece and gives what of the text may be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        if self.is_shut {
            return String::new();
        }
        if self.list.is_empty() {
            return piece.to_owned();
        }
        let start = self.passed + self.held.len();
        self.held.push_str(piece);
        for (at, character) in piece.char_indices() {
            for folded in folded(character) {
                self.take(folded, start + at);
            }
            if self.is_shut {
                self.held.clear();
                return String::new();
            }
        }
        let open = self.matched.iter().map(|(matched, _)| *matched).max().unwrap_or_default();
        let first = self.newest.len().checked_sub(open).and_then(|nth| self.newest.get(nth));
        let until = first.filter(|_| open > 0).map_or(start + piece.len(), |(_, at)| *at);
        let rest = self.held.split_off(until.saturating_sub(self.passed).min(self.held.len()));
        let shown = std::mem::replace(&mut self.held, rest);
        self.passed += shown.len();
        shown
    }

    /// The rest of the text, now that it has ended.
    pub fn finish(&mut self) -> String {
        self.is_shut |= self.matched.iter().any(|(_, is_whole)| *is_whole);
        let rest = std::mem::take(&mut self.held);
        if self.is_shut { String::new() } else { rest }
    }

    fn take(&mut self, character: char, at: usize) {
        if character == ' ' && self.newest.back().is_some_and(|(newest, _)| *newest == ' ') {
            return;
        }
        self.newest.push_back((character, at));
        if self.newest.len() > MAX_PHRASE + 2 {
            self.newest.pop_front();
        }
        for (phrase, (matched, is_whole)) in self.list.0.iter().zip(&mut self.matched) {
            self.is_shut |= *is_whole && !is_word(character);
            *matched = phrase.after(*matched, character);
            let is_matched = *matched == phrase.characters.len();
            let before = self.newest.len().checked_sub(*matched + 1);
            let before = before.and_then(|nth| self.newest.get(nth));
            let goes_on = before.is_some_and(|(before, _)| is_word(*before));
            let is_found = is_matched && !(phrase.begins_word && goes_on);
            self.is_shut |= is_found && !phrase.ends_word;
            *is_whole = is_found && phrase.ends_word;
        }
    }
}
