//! The calls shown on one connection, with the shown position of their output.
//!
//! Output may arrive before its call, because both come from separate logs. Early output waits; output after
//! the result is dropped.

use std::collections::{BTreeMap, BTreeSet};

use crate::call_progress::{CallKey, CallProgress, ProgressMark};
use djinn_core::entry::{Entry, Event};
use djinn_core::id::Path;

/// Maximum bytes waiting for calls; more output is dropped.
const MAX_WAITING_BYTES: usize = 64 * 1024;

/// The calls of a run and its children on one connection.
#[derive(Default)]
pub(super) struct CallTracker {
    /// The calls at work.
    open: BTreeMap<CallKey, ProgressMark>,
    completed: BTreeSet<CallKey>,
    ended_paths: BTreeSet<Path>,
    waiting: BTreeMap<CallKey, CallProgress>,
}

impl CallTracker {
    /// Applies an entry on display.
    pub(super) fn apply_entry(&mut self, entry: &Entry) {
        if let Event::CallRequested { call, .. } = &entry.event {
            let key = CallKey { path: entry.path.clone(), call: call.clone() };
            self.open.entry(key).or_default();
        } else if let Event::CallCompleted { call, .. } = &entry.event {
            let key = CallKey { path: entry.path.clone(), call: call.clone() };
            self.open.remove(&key);
            self.waiting.remove(&key);
            self.completed.insert(key);
        } else if let Event::ChildEnded { child, .. } = &entry.event {
            let child_path = entry.path.with_child(child.clone());
            let is_other = |key: &CallKey| !key.path.is_within(&child_path);
            self.open.retain(|key, _| is_other(key));
            self.waiting.retain(|key, _| is_other(key));
            self.completed.retain(is_other);
            self.ended_paths.insert(child_path);
        }
    }

    /// Returns the new part of a piece, if the call is at work. Output of a call not yet shown waits.
    pub(super) fn admit_progress(&mut self, piece: &CallProgress) -> Option<CallProgress> {
        let key = piece.call_key();
        if let Some(current) = self.open.get_mut(&key) {
            let news = piece.news_after(current)?;
            *current = news.mark();
            return Some(news);
        }
        let has_ended = self.ended_paths.iter().any(|ended_path| piece.path.is_within(ended_path));
        let waiting_bytes: usize = self.waiting.values().map(|waits| waits.text.len()).sum();
        let has_room = waiting_bytes + piece.text.len() <= MAX_WAITING_BYTES;
        if !has_ended && !self.completed.contains(&key) && has_room {
            let waits = self.waiting.entry(key);
            waits.and_modify(|waits| waits.append(piece)).or_insert_with(|| piece.clone());
        }
        None
    }

    /// Returns waiting output with a call shown meanwhile.
    pub(super) fn take_ready_progress(&mut self) -> Option<CallProgress> {
        let key = self.waiting.keys().find(|key| self.open.contains_key(*key)).cloned()?;
        let piece = self.waiting.remove(&key)?;
        self.admit_progress(&piece)
    }

    /// Returns true if waiting output can be shown now.
    pub(super) fn has_ready(&self) -> bool {
        self.waiting.keys().any(|key| self.open.contains_key(key))
    }
}
