//! Words and phrases that a deployment neither accepts nor outputs.
//!
//! A phrase is found in any case and form ([`fold`](mod@crate::fold)). Any white space may separate its
//! words. Hidden characters are ignored, also in place of spaces, and so are accents beyond the phrase's own.
//! Only whole words match: `ass` is not found in `class`. A `*` at the start or the end of a phrase allows a
//! longer word. Scripts written without spaces between words
//! ([`is_written_without_spaces`](crate::fold::is_written_without_spaces)) have no word boundaries, and a space
//! after such a character is ignored.
//!
//! All phrases are searched at once (Aho and Corasick, 1975), by letters alone. Spaces and marks are compared
//! after all letters of a phrase match. So the cost depends only on the text's length.

mod filter;
mod letters;
mod phrase;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

pub use filter::DenyFilter;
use phrase::Phrase;

/// Maximum phrases of a list.
pub const MAX_PHRASES: usize = 500;

/// Maximum characters of a phrase.
pub const MAX_PHRASE: usize = 100;

/// The denied phrases. Clones share the list.
#[derive(Clone, Default)]
pub struct DenyList(Option<Arc<PhraseMatcher>>);

/// An automaton of all phrases, over the bytes of their letters.
struct PhraseMatcher {
    phrases: Vec<Phrase>,
    automaton: NFA,
    start: StateID,
    /// The number of matched letters of a phrase, by state.
    depths: HashMap<StateID, usize>,
    /// Letters of the longest phrase.
    longest: usize,
    /// The accents of all phrases; a text's others are of no interest.
    accents: BTreeSet<char>,
}

/// An error in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DenyListError {
    /// The list has more than [`MAX_PHRASES`] phrases.
    #[error("at most {MAX_PHRASES} phrases")]
    TooMany,
    /// A phrase is empty or too long; the position counts from 1.
    #[error("phrases of 1 to {MAX_PHRASE} characters; number {0} is not")]
    Phrase(usize),
}

impl DenyList {
    /// Creates a list of the phrases.
    ///
    /// # Errors
    /// Returns [`DenyListError`] for the first invalid phrase.
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

    /// Returns true if the list has no phrases.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns true if the text contains a phrase.
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
    /// Builds the automaton; `None` if larger than any valid list.
    fn new(phrases: Vec<Phrase>) -> Option<Self> {
        let texts = phrases
            .iter()
            .map(|phrase| phrase.letters.iter().map(|letter| letter.character).collect::<String>());
        let automaton =
            NFA::builder().match_kind(MatchKind::Standard).prefilter(false).build(texts).ok()?;
        let start = automaton.start_state(Anchored::No).ok()?;
        let longest = phrases.iter().map(|phrase| phrase.letters.len()).max()?;
        let marks = phrases.iter().flat_map(|phrase| &phrase.letters).map(|letter| &letter.marks);
        let accents = marks.flat_map(|marks| marks.accents.iter().copied()).collect();
        let depths = HashMap::new();
        let mut matcher = Self { phrases, automaton, start, depths, longest, accents };
        for phrase in &matcher.phrases {
            let mut state = start;
            for (nth, letter) in phrase.letters.iter().enumerate() {
                state = matcher.next_state(state, letter.character);
                matcher.depths.insert(state, nth + 1);
            }
        }
        Some(matcher)
    }

    fn next_state(&self, state: StateID, character: char) -> StateID {
        let mut bytes = [0; 4];
        let step = |state, byte| self.automaton.next_state(Anchored::No, state, byte);
        character.encode_utf8(&mut bytes).bytes().fold(state, step)
    }

    /// Returns the phrases that end in this state.
    fn phrases_ending_at(&self, state: StateID) -> impl Iterator<Item = &Phrase> {
        let count =
            if self.automaton.is_match(state) { self.automaton.match_len(state) } else { 0 };
        (0..count).filter_map(move |nth| {
            self.phrases.get(self.automaton.match_pattern(state, nth).as_usize())
        })
    }
}
