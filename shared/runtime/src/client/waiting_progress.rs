//! What tools say while they work that waits to be sent: one piece a call, with all that came since.

use std::collections::BTreeMap;

use djinn_core::entry::{Entry, Event};
use djinn_protocol::call_progress::{CallKey, CallProgress};

/// The pieces that wait, by their calls. Each says no more than a call may.
#[derive(Debug, Default)]
pub(super) struct WaitingProgress(BTreeMap<CallKey, CallProgress>);

impl WaitingProgress {
    /// Adds a piece to what waits of its call.
    pub(super) fn add_piece(&mut self, piece: &CallProgress) {
        let waits = self.0.entry(piece.call_key());
        waits.and_modify(|waits| waits.append(piece)).or_insert_with(|| piece.clone());
    }

    /// Takes the piece of some call.
    pub(super) fn take_piece(&mut self) -> Option<CallProgress> {
        self.0.pop_first().map(|(_, piece)| piece)
    }

    /// Whether nothing waits to be sent.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops what nobody needs any more once this entry is shown.
    pub(super) fn discard_covered(&mut self, entry: &Entry) {
        if let Event::CallCompleted { call, .. } = &entry.event {
            self.0.remove(&CallKey { path: entry.path.clone(), call: call.clone() });
        } else if let Event::ChildEnded { child, .. } = &entry.event {
            let ended = entry.path.with_child(child.clone());
            self.0.retain(|key, _| !key.path.is_within(&ended));
        } else if matches!(entry.event, Event::RunEnded(_)) && entry.path.is_root() {
            self.0.clear();
        }
    }

    /// Drops all of it.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
