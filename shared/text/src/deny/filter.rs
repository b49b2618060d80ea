//! A streaming filter of denied phrases.

use std::collections::VecDeque;

use aho_corasick::automaton::StateID;

use super::letters::{Gap, LetterReader, Marks, TextPiece, is_word_character};
use super::phrase::Phrase;
use super::{DenyList, PhraseMatcher};

/// A filter that passes text in pieces, without any part of a denied phrase. Text that may start a phrase is
/// held back until clear. After a match, no more text passes.
#[derive(Debug, Clone)]
pub struct DenyFilter {
    list: DenyList,
    /// The automaton's state at the end of the text.
    state: Option<StateID>,
    reader: LetterReader,
    /// The newest letters, at most the longest phrase plus 1.
    newest: VecDeque<TextLetter>,
    /// True if phrases ending in the newest letter are still unchecked, because more marks may follow.
    is_open: bool,
    pending: String,
    passed_bytes: usize,
    is_blocked: bool,
}

/// A letter, digit or sign of a text.
#[derive(Debug, Clone)]
struct TextLetter {
    character: char,
    gap: Gap,
    /// The letter's accents, limited to accents in phrases.
    marks: Marks,
    /// The letter's start in the text, in bytes.
    at: usize,
}

impl DenyFilter {
    /// Creates a filter for a new text.
    #[must_use]
    pub fn new(list: DenyList) -> Self {
        let state = list.0.as_ref().map(|matcher| matcher.start);
        Self {
            list,
            state,
            reader: LetterReader::default(),
            newest: VecDeque::new(),
            is_open: false,
            pending: String::new(),
            passed_bytes: 0,
            is_blocked: false,
        }
    }

    /// Returns true if a denied phrase was found.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    /// Takes the next piece, and returns the text cleared by now.
    pub fn push(&mut self, piece: &str) -> String {
        if self.is_blocked {
            return String::new();
        }
        let Some(matcher) = self.list.0.clone() else { return piece.to_owned() };
        let start = self.passed_bytes + self.pending.len();
        self.pending.push_str(piece);
        for (at, character) in piece.char_indices() {
            let mut reader = self.reader;
            reader.read(character, |piece| self.take_piece(&matcher, piece, start + at));
            self.reader = reader;
            if self.is_blocked {
                self.pending.clear();
                return String::new();
            }
        }
        let open =
            self.state.map_or(0, |state| matcher.depths.get(&state).copied().unwrap_or_default());
        let first = self.newest.len().checked_sub(open).and_then(|nth| self.newest.get(nth));
        let until = first.filter(|_| open > 0).map_or(start + piece.len(), |letter| letter.at);
        let rest =
            self.pending.split_off(until.saturating_sub(self.passed_bytes).min(self.pending.len()));
        let output = std::mem::replace(&mut self.pending, rest);
        self.passed_bytes += output.len();
        output
    }

    /// Returns the rest at the end of the text.
    pub fn finish(&mut self) -> String {
        if let Some(matcher) = self.list.0.clone() {
            self.close_letter(&matcher, false);
        }
        let rest = std::mem::take(&mut self.pending);
        if self.is_blocked { String::new() } else { rest }
    }

    fn take_piece(&mut self, matcher: &PhraseMatcher, piece: TextPiece, at: usize) {
        let last = self.newest.back_mut();
        match piece {
            TextPiece::Letter(character, gap) => {
                let goes_on = gap < Gap::ZeroWidthSpace && is_word_character(character);
                self.close_letter(matcher, goes_on);
                self.newest.push_back(TextLetter { character, gap, marks: Marks::default(), at });
                if self.newest.len() > matcher.longest + 1 {
                    self.newest.pop_front();
                }
                let state = self.state.unwrap_or(matcher.start);
                self.state = Some(matcher.next_state(state, character));
                self.is_open = true;
            }
            TextPiece::Part(mark) => {
                if let Some(last) = last {
                    last.marks.parts.insert(mark);
                }
            }
            TextPiece::Accent(mark) => {
                if let Some(last) = last.filter(|_| matcher.accents.contains(&mark)) {
                    last.marks.accents.insert(mark);
                }
            }
            TextPiece::Space => self.close_letter(matcher, false),
        }
    }

    /// Checks the phrases that end in the newest letter, complete with marks. `goes_on` is true if the word
    /// continues.
    fn close_letter(&mut self, matcher: &PhraseMatcher, goes_on: bool) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let mut phrases = matcher.phrases_ending_at(self.state.unwrap_or(matcher.start));
        self.is_blocked |=
            phrases.any(|phrase| self.ends_in(phrase) && !(phrase.ends_word && goes_on));
    }

    /// Returns true if the newest letters match the phrase, including its gaps and start.
    fn ends_in(&self, phrase: &Phrase) -> bool {
        let Some(start) = self.newest.len().checked_sub(phrase.letters.len()) else { return false };
        let before = start.checked_sub(1).and_then(|nth| self.newest.get(nth));
        let mut letters = phrase.letters.iter().zip(self.newest.range(start..)).enumerate();
        let begins_word = before.is_none_or(|before| !is_word_character(before.character))
            || self.newest.get(start).is_some_and(|first| first.gap >= Gap::ZeroWidthSpace);
        (begins_word || !phrase.begins_word)
            && letters.all(|(nth, (phrase_letter, letter))| {
                phrase_letter.matches(letter.gap, &letter.marks, nth == 0)
            })
    }
}
