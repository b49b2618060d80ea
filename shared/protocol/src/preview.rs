//! Text in progress: not journaled, possibly lost, always followed by the complete text.

use djinn_core::entry::Entry;
use djinn_core::id::{MessageId, MessageKey, Path};
use serde::{Deserialize, Serialize};

use crate::call_progress::CallProgress;

/// The kind of text that a preview belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TextKind {
    /// The text of the message.
    Text,
    /// The model's reasoning before the text, separate from the answer.
    Reasoning,
}

/// A piece of an unfinished message. A piece that starts within the known text extends the text, and a piece
/// after a gap is ignored. A higher attempt starts over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    /// The path of the run with the message.
    #[serde(default, skip_serializing_if = "Path::is_root")]
    pub path: Path,
    /// The message being written.
    pub message: MessageId,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The kind of text.
    pub kind: TextKind,
    /// The piece's start, in bytes of UTF-8.
    pub offset: u64,
    /// The text at `offset`.
    pub text: String,
    /// The time of the piece, Unix milliseconds.
    pub at_ms: i64,
}

/// An item shown to viewers before or beside the journal. May be lost; the run's journal contains all lasting
/// content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Live {
    /// An entry of a child at work.
    Entry(Box<EarlyEntry>),
    /// A piece of an unfinished message.
    Preview(Preview),
    /// The output of a tool at work.
    Progress(CallProgress),
}

impl Live {
    /// Returns the path of the item's run.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Entry(early) => &early.entry.path,
            Self::Preview(preview) => &preview.path,
            Self::Progress(progress) => &progress.path,
        }
    }
}

/// An entry of a child's journal, in the form of the run's history after the child's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlyEntry {
    /// The index among the child's entries, from 0; entries are shown in order.
    pub index: u64,
    /// True for the last entry of its record; the model's next text follows the record.
    #[serde(default)]
    pub ends_record: bool,
    /// The entry, as later in the history of the run.
    pub entry: Entry,
}

impl Preview {
    /// Returns true for text of the run itself: of a turn, or of the summary of its plan.
    #[must_use]
    pub fn is_own_text(&self) -> bool {
        let is_answer = self.message.turn_number().is_some() || self.message.is_summary();
        self.path.is_root() && is_answer
    }

    /// Returns the key of the piece's message.
    #[must_use]
    pub fn message_key(&self) -> MessageKey {
        MessageKey { path: self.path.clone(), message: self.message.clone() }
    }
}

/// The text of an unfinished message, as known by one reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenText {
    attempt: u32,
    text: String,
    reasoning: String,
}

/// The change made by a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextChange {
    /// This text was added at the end.
    Appended(String),
    /// A new attempt started, with this text so far.
    Restarted(String),
    /// No change: the text is already known, or an earlier piece is missing.
    Nothing,
}

impl OpenText {
    /// Returns the attempt of the text; 0 before the first piece.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the text of one kind.
    #[must_use]
    pub fn text_of(&self, kind: TextKind) -> &str {
        match kind {
            TextKind::Text => &self.text,
            TextKind::Reasoning => &self.reasoning,
        }
    }

    /// Applies a piece by its attempt and offset.
    pub fn apply_preview(&mut self, piece: &Preview) -> TextChange {
        if piece.attempt < self.attempt {
            return TextChange::Nothing;
        }
        let is_restart = piece.attempt > self.attempt && self.attempt > 0;
        if piece.attempt > self.attempt {
            *self = Self { attempt: piece.attempt, ..Self::default() };
        }
        let current_text = match piece.kind {
            TextKind::Text => &mut self.text,
            TextKind::Reasoning => &mut self.reasoning,
        };
        let addition = usize::try_from(piece.offset)
            .ok()
            .and_then(|offset| current_text.len().checked_sub(offset))
            .and_then(|overlap| piece.text.get(overlap..))
            .unwrap_or_default();
        current_text.push_str(addition);
        match (is_restart, addition.is_empty()) {
            (true, _) => TextChange::Restarted(addition.to_owned()),
            (false, true) => TextChange::Nothing,
            (false, false) => TextChange::Appended(addition.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece(attempt: u32, offset: usize, text: &str) -> Preview {
        Preview {
            path: Path::default(),
            message: MessageId::for_turn(1),
            attempt,
            kind: TextKind::Text,
            offset: offset as u64,
            text: text.to_owned(),
            at_ms: 0,
        }
    }

    #[test]
    fn pieces_extend_by_offset_and_a_new_attempt_starts_over() {
        let mut open = OpenText::default();
        assert_eq!(open.apply_preview(&piece(1, 0, "ab")), TextChange::Appended("ab".into()));
        assert_eq!(open.apply_preview(&piece(1, 1, "bc")), TextChange::Appended("c".into()));
        assert_eq!(open.apply_preview(&piece(1, 9, "z")), TextChange::Nothing);
        assert_eq!(open.apply_preview(&piece(1, 0, "ab")), TextChange::Nothing);
        assert_eq!(open.apply_preview(&piece(2, 0, "x")), TextChange::Restarted("x".into()));
        assert_eq!(open.apply_preview(&piece(1, 3, "d")), TextChange::Nothing);
        assert_eq!(open.text_of(TextKind::Text), "x");
    }

    proptest! {
        #[test]
        fn repeated_and_overlapping_pieces_never_double_or_tear_the_text(
            text in "[a-z界é]{0,40}",
            cuts in proptest::collection::vec((0usize..40, 0usize..40), 0..30),
        ) {
            let boundaries: Vec<usize> =
                text.char_indices().map(|(i, _)| i).chain([text.len()]).collect();
            let mut open = OpenText::default();
            for (a, b) in cuts {
                let (a, b) = (a.min(b) % boundaries.len(), a.max(b) % boundaries.len());
                let (a, b) = (boundaries[a.min(b)], boundaries[a.max(b)]);
                open.apply_preview(&piece(1, a, &text[a..b]));
                prop_assert!(text.starts_with(open.text_of(TextKind::Text)));
            }
            open.apply_preview(&piece(1, 0, &text));
            prop_assert_eq!(open.text_of(TextKind::Text), text.as_str());
        }
    }
}
