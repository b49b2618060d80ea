//! Waiting pieces of incomplete messages, merged without gaps.

use std::collections::BTreeMap;
use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::id::MessageKey;
use djinn_protocol::preview::Preview;

use crate::settings::to_millis;

/// The maximum text of one frame, in bytes.
const MAX_PIECE: usize = 16 * 1024;

/// The waiting pieces by message. A message's first piece may be sent at once; later pieces are merged for a
/// while.
#[derive(Debug, Default)]
pub(super) struct WaitingPreviews {
    every_ms: i64,
    messages: BTreeMap<MessageKey, WaitingMessage>,
}

/// The waiting pieces of one message.
#[derive(Debug, Default)]
struct WaitingMessage {
    attempt: u32,
    /// The earliest time of sending, in Unix milliseconds.
    at_ms: i64,
    /// At most one piece of each kind of text.
    pieces: Vec<Preview>,
}

impl WaitingPreviews {
    /// Sets the minimum time between two pieces of a message.
    pub(super) fn set_merge_interval(&mut self, every: Duration) {
        self.every_ms = to_millis(every);
    }

    /// Merges a piece into the waiting pieces of its message.
    pub(super) fn add_piece(&mut self, piece: &Preview) {
        let waiting = self.messages.entry(piece.message_key()).or_default();
        if piece.attempt < waiting.attempt {
            return;
        }
        if piece.attempt > waiting.attempt {
            waiting.pieces.clear();
            waiting.attempt = piece.attempt;
        }
        match waiting.pieces.iter_mut().find(|waits| waits.kind == piece.kind) {
            Some(waits) => append_piece(waits, piece),
            None => waiting.pieces.push(piece.clone()),
        }
    }

    /// Takes a due piece, at most as large as a frame.
    pub(super) fn take_piece(&mut self, now_ms: i64) -> Option<Preview> {
        let may_be_sent =
            |waiting: &&mut WaitingMessage| waiting.at_ms <= now_ms && !waiting.pieces.is_empty();
        let waiting = self.messages.values_mut().find(may_be_sent)?;
        let first = waiting.pieces.first_mut()?;
        let end = first.text.floor_char_boundary(MAX_PIECE);
        let rest = first.text.split_off(end);
        let piece = first.clone();
        if rest.is_empty() {
            waiting.pieces.remove(0);
        } else {
            first.offset = first.offset.saturating_add(end as u64);
            first.text = rest;
        }
        if waiting.pieces.is_empty() {
            waiting.at_ms = now_ms.saturating_add(self.every_ms);
        }
        Some(piece)
    }

    /// Returns the time of the next due piece, in Unix milliseconds; `None` if no piece waits.
    pub(super) fn next_at_ms(&self) -> Option<i64> {
        let waiting = self.messages.values().filter(|waiting| !waiting.pieces.is_empty());
        waiting.map(|waiting| waiting.at_ms).min()
    }

    /// Drops the pieces that an entry contains as a whole, or has made void.
    pub(super) fn discard_covered(&mut self, entry: &Entry) {
        match &entry.event {
            Event::MessageCompleted { message, .. } | Event::MessageReset { message, .. } => {
                self.messages.remove(&entry.message_key(message));
            }
            Event::RunResumed { .. } => self.messages.retain(|key, _| key.path != entry.path),
            Event::ChildEnded { child, .. } => {
                let child_path = entry.path.with_child(child.clone());
                self.messages.retain(|key, _| !key.path.is_within(&child_path));
            }
            Event::RunEnded(_) if entry.path.is_root() => self.messages.clear(),
            _ => {}
        }
    }

    pub(super) fn clear(&mut self) {
        self.messages.clear();
    }
}

/// Appends the new part of a piece to a waiting piece. A piece after a gap is dropped, as in every client:
/// the text in between was lost.
fn append_piece(waits: &mut Preview, piece: &Preview) {
    let end = waits.offset.saturating_add(waits.text.len() as u64);
    let Some(overlap) = end.checked_sub(piece.offset) else { return };
    let overlap = usize::try_from(overlap).unwrap_or(usize::MAX);
    if let Some(more) = piece.text.get(overlap..) {
        waits.text.push_str(more);
        waits.at_ms = piece.at_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::id::Path;
    use djinn_core::id::{ChildId, MessageId};
    use djinn_protocol::preview::{OpenText, TextKind};
    use proptest::prelude::*;

    fn piece(attempt: u32, kind: TextKind, offset: usize, text: &str) -> Preview {
        Preview {
            path: Path::default(),
            message: MessageId::for_turn(1),
            attempt,
            kind,
            offset: offset as u64,
            text: text.to_owned(),
            at_ms: 0,
        }
    }

    fn texts(waiting: &mut WaitingPreviews, now_ms: i64) -> Vec<(u64, String)> {
        let taken = std::iter::from_fn(|| waiting.take_piece(now_ms));
        taken.map(|piece| (piece.offset, piece.text)).collect()
    }

    fn of(pieces: &[(u64, &str)]) -> Vec<(u64, String)> {
        pieces.iter().map(|(offset, text)| (*offset, (*text).to_owned())).collect()
    }

    #[test]
    fn the_first_piece_may_be_sent_at_once_and_later_ones_together() {
        let mut waiting = WaitingPreviews::default();
        waiting.set_merge_interval(Duration::from_millis(50));
        assert_eq!(waiting.next_at_ms(), None);
        waiting.add_piece(&piece(1, TextKind::Text, 0, "a"));
        assert_eq!(texts(&mut waiting, 1_000), of(&[(0, "a")]));
        waiting.add_piece(&piece(1, TextKind::Text, 1, "b"));
        waiting.add_piece(&piece(1, TextKind::Text, 2, "c"));
        assert_eq!((waiting.next_at_ms(), waiting.take_piece(1_049)), (Some(1_050), None));
        // Another message is not held back by it.
        let path = Path::to(ChildId::for_step(1, 1));
        waiting.add_piece(&Preview { path, ..piece(1, TextKind::Text, 0, "x") });
        assert_eq!(texts(&mut waiting, 1_049), of(&[(0, "x")]));
        assert_eq!(texts(&mut waiting, 1_050), of(&[(1, "bc")]));
        assert_eq!(waiting.next_at_ms(), None);
    }

    #[test]
    fn a_new_attempt_takes_the_place_of_what_waits_and_a_gap_is_left_out() {
        let mut waiting = WaitingPreviews::default();
        waiting.add_piece(&piece(1, TextKind::Reasoning, 0, "old"));
        waiting.add_piece(&piece(1, TextKind::Text, 0, "old"));
        waiting.add_piece(&piece(2, TextKind::Text, 0, "new"));
        waiting.add_piece(&piece(1, TextKind::Text, 3, "er"));
        waiting.add_piece(&piece(2, TextKind::Text, 9, "lost before"));
        waiting.add_piece(&piece(2, TextKind::Text, 1, "ew one"));
        assert_eq!(texts(&mut waiting, 0), of(&[(0, "new one")]));
    }

    #[test]
    fn a_long_text_is_cut_into_frames_between_its_characters() {
        let mut waiting = WaitingPreviews::default();
        let text = "界".repeat(MAX_PIECE / 2);
        waiting.add_piece(&piece(1, TextKind::Text, 0, &text));
        let taken = texts(&mut waiting, 0);
        assert_eq!(taken.len(), 2);
        assert!(taken.iter().all(|(_, piece)| piece.len() <= MAX_PIECE));
        assert_eq!(taken[1].0, taken[0].1.len() as u64);
        assert_eq!(format!("{}{}", taken[0].1, taken[1].1), text);
    }

    proptest! {
        #[test]
        fn merging_never_makes_a_hole(
            text in "[a-z界é]{1,40}", cuts in proptest::collection::vec((1usize..6, any::<bool>()), 0..40),
        ) {
            let mut waiting = WaitingPreviews::default();
            let mut client = OpenText::default();
            let mut start = 0;
            for (now_ms, (chars, sends)) in (0..).zip(cuts) {
                let end = text[start..].char_indices().nth(chars).map_or(text.len(), |(at, _)| start + at);
                waiting.add_piece(&piece(1, TextKind::Text, start, &text[start..end]));
                start = end;
                while sends && let Some(sent) = waiting.take_piece(now_ms) {
                    client.apply_preview(&sent);
                    prop_assert_eq!(client.text_of(TextKind::Text), &text[..start]);
                }
            }
        }
    }
}
