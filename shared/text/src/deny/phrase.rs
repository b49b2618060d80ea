//! One phrase of a list.

use super::MAX_PHRASE;
use super::letters::{Gap, LetterReader, Marks, TextPiece, is_word_character};

/// A phrase, with the whole-word rules for both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phrase {
    pub(super) letters: Vec<PhraseLetter>,
    pub(super) begins_word: bool,
    pub(super) ends_word: bool,
}

/// A letter, digit or sign of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PhraseLetter {
    pub(super) character: char,
    /// True if a space precedes the letter; false for the phrase's first letter.
    has_space: bool,
    pub(super) marks: Marks,
}

impl Phrase {
    /// Parses a list's phrase; `None` if the phrase is empty or too long.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (begins_word, text) = split_wildcard(text, text.strip_prefix('*'));
        let (ends_word, text) = split_wildcard(text, text.strip_suffix('*'));
        let text = text.trim();
        let mut letters: Vec<PhraseLetter> = Vec::new();
        let mut reader = LetterReader::default();
        for character in text.chars() {
            reader.read(character, |piece| match (piece, letters.last_mut()) {
                (TextPiece::Letter(character, gap), _) => {
                    let has_space = gap == Gap::Space;
                    let marks = Marks::default();
                    letters.push(PhraseLetter { character, has_space, marks });
                }
                (TextPiece::Part(mark), Some(last)) => _ = last.marks.parts.insert(mark),
                (TextPiece::Accent(mark), Some(last)) => _ = last.marks.accents.insert(mark),
                (TextPiece::Part(_) | TextPiece::Accent(_), None) | (TextPiece::Space, _) => {}
            });
        }
        let first = letters.first()?.character;
        let last = letters.last()?.character;
        (text.chars().count() <= MAX_PHRASE).then(|| Self {
            begins_word: begins_word && is_word_character(first),
            ends_word: ends_word && is_word_character(last),
            letters,
        })
    }
}

impl PhraseLetter {
    /// Returns true if a text's letter of the same character matches. The gap before is checked unless the
    /// letter `is_first` in its phrase.
    pub(super) fn matches(&self, gap: Gap, marks: &Marks, is_first: bool) -> bool {
        let is_spaced_alike = if self.has_space { gap > Gap::Nothing } else { gap < Gap::Space };
        (is_first || is_spaced_alike)
            && self.marks.parts == marks.parts
            && self.marks.accents.is_subset(&marks.accents)
    }
}

fn split_wildcard<'a>(text: &'a str, lifted: Option<&'a str>) -> (bool, &'a str) {
    (lifted.is_none(), lifted.unwrap_or(text))
}
