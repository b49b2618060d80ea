//! Waiting tool progress: one piece per call, with all progress since the last piece.

use std::collections::BTreeMap;

use djinn_core::entry::{Entry, Event};
use djinn_protocol::call_progress::{CallKey, CallProgress};

/// The waiting pieces by call, each within the limit of a call's progress.
#[derive(Debug, Default)]
pub(super) struct WaitingProgress(BTreeMap<CallKey, CallProgress>);

impl WaitingProgress {
    /// Merges a piece into the waiting piece of its call.
    pub(super) fn add_piece(&mut self, piece: &CallProgress) {
        let waits = self.0.entry(piece.call_key());
        waits.and_modify(|waits| waits.append(piece)).or_insert_with(|| piece.clone());
    }

    /// Takes the piece of any call.
    pub(super) fn take_piece(&mut self) -> Option<CallProgress> {
        self.0.pop_first().map(|(_, piece)| piece)
    }

    /// Returns true if no piece waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops progress that this entry makes obsolete.
    pub(super) fn discard_covered(&mut self, entry: &Entry) {
        if let Event::CallCompleted { call, .. } = &entry.event {
            self.0.remove(&CallKey { path: entry.path.clone(), call: call.clone() });
        } else if let Event::ChildEnded { child, .. } = &entry.event {
            let child_path = entry.path.with_child(child.clone());
            self.0.retain(|key, _| !key.path.is_within(&child_path));
        } else if matches!(entry.event, Event::RunEnded(_)) && entry.path.is_root() {
            self.0.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
