//! The comparable letters of texts and phrases, with the gaps between letters.

use std::collections::BTreeSet;

use crate::fold::{
    MarkRole, fold_character, is_combining_mark, is_hidden, is_written_without_spaces, mark_role,
};

const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// The gap between two letters of a text. Of several gaps, the greatest counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    Nothing,
    /// Hidden characters: optional spaces that do not end a word.
    Hidden,
    /// A zero-width space: hidden, and the end of a word.
    ZeroWidthSpace,
    Space,
}

/// The marks of a letter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// The marks that change the letter into another letter.
    pub(super) parts: BTreeSet<char>,
    pub(super) accents: BTreeSet<char>,
}

/// Returns true for a character of a word in a script with word boundaries.
pub(super) fn is_word_character(character: char) -> bool {
    (character.is_alphanumeric() || is_combining_mark(character))
        && !is_written_without_spaces(character)
}

/// A comparable piece of a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum TextPiece {
    /// A letter, digit or sign, with the gap before.
    Letter(char, Gap),
    /// A mark that changes the last letter into another letter.
    Part(char),
    /// A further mark of the last letter.
    Accent(char),
    /// Significant white space: the last letter has no more marks.
    Space,
}

/// A reader of a text, character by character.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LetterReader {
    gap: Gap,
    /// The letter for the next marks.
    base: Option<char>,
}

impl LetterReader {
    /// Passes the pieces of the text's next character to `take`.
    pub(super) fn read(&mut self, character: char, mut take: impl FnMut(TextPiece)) {
        if character.is_ascii_graphic() {
            let letter = character.to_ascii_lowercase();
            self.base = Some(letter);
            take(TextPiece::Letter(letter, std::mem::take(&mut self.gap)));
            return;
        }
        if is_hidden(character) {
            let is_space = character == ZERO_WIDTH_SPACE;
            self.gap = self.gap.max(if is_space { Gap::ZeroWidthSpace } else { Gap::Hidden });
            return;
        }
        for folded in fold_character(character) {
            if folded == ' ' {
                if self.base.is_some_and(is_written_without_spaces) {
                    continue;
                }
                (self.gap, self.base) = (Gap::Space, None);
                take(TextPiece::Space);
                continue;
            }
            let role = match self.base {
                _ if !is_combining_mark(folded) => {
                    self.base = Some(folded);
                    MarkRole::Letter
                }
                Some(base) => mark_role(base, folded),
                None => continue,
            };
            take(match role {
                MarkRole::Letter => TextPiece::Letter(folded, std::mem::take(&mut self.gap)),
                MarkRole::Part => TextPiece::Part(folded),
                MarkRole::Accent => TextPiece::Accent(folded),
            });
        }
    }
}
