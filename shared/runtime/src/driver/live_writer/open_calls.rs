//! The progress of calls at work, and the part of it in the live log.

use std::collections::BTreeMap;

use djinn_core::id::{CallId, Path};
use djinn_protocol::call_progress::{CallProgress, ProgressMark};
use djinn_protocol::preview::Live;

/// The calls at work with progress.
#[derive(Default)]
pub(super) struct OpenCalls(BTreeMap<CallId, OpenCall>);

struct OpenCall {
    /// All progress of the call.
    progress: CallProgress,
    /// The part written to the live log.
    logged: ProgressMark,
}

impl OpenCalls {
    /// Adds a piece of a call's progress.
    pub(super) fn add_piece(&mut self, piece: &CallProgress) {
        if let Some(open) = self.0.get_mut(&piece.call) {
            return open.progress.append(piece);
        }
        let open = OpenCall { progress: piece.clone(), logged: ProgressMark::default() };
        self.0.insert(piece.call.clone(), open);
    }

    /// Removes a call with a result.
    pub(super) fn remove_call(&mut self, call: &CallId) {
        self.0.remove(call);
    }

    /// Removes all calls: the calls are repeated, or never.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns true if a call has progress from before this time that is not in the live log.
    pub(super) fn has_unlogged(&self, until_ms: i64) -> bool {
        self.0.values().any(|open| open.progress.at_ms <= until_ms && open.news().is_some())
    }

    /// Returns the unwritten progress of each call, up to `room` bytes.
    pub(super) fn take_pieces(&mut self, room: &mut usize, path: &Path, now_ms: i64) -> Vec<Live> {
        let mut pieces = Vec::new();
        for open in self.0.values_mut() {
            if let Some(piece) = open.news().and_then(|news| news.first_part(*room)) {
                *room = room.saturating_sub(piece.text.len());
                open.logged = piece.mark();
                let path = path.clone();
                pieces.push(Live::Progress(CallProgress { path, at_ms: now_ms, ..piece }));
            }
        }
        pieces
    }
}

impl OpenCall {
    fn news(&self) -> Option<CallProgress> {
        self.progress.news_after(&self.logged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::id::ChildId;

    fn piece(offset: u64, text: &str, at_ms: i64) -> CallProgress {
        let call = CallId::new("t1.c1").unwrap();
        let text = text.to_owned();
        CallProgress {
            path: Path::default(),
            call,
            began_at_ms: 5,
            offset,
            text,
            is_cut: false,
            at_ms,
        }
    }

    fn written(calls: &mut OpenCalls, mut room: usize) -> Vec<(u64, String)> {
        let pieces =
            calls.take_pieces(&mut room, &Path::to(ChildId::for_step(1, 1)), 99).into_iter();
        let told = pieces.map(|live| match live {
            Live::Progress(CallProgress { offset, text, .. }) => (offset, text),
            Live::Preview(_) | Live::Entry(_) => panic!("{live:?}"),
        });
        told.collect()
    }

    #[test]
    fn the_live_log_gets_all_that_a_call_says_in_parts_that_have_room() {
        let mut calls = OpenCalls::default();
        calls.add_piece(&piece(0, "one\n", 10));
        calls.add_piece(&piece(4, "two\n", 20));
        assert!(calls.has_unlogged(20) && !calls.has_unlogged(19));
        assert_eq!(written(&mut calls, 6), [(0, "one\ntw".to_owned())]);
        assert_eq!(written(&mut calls, 0), []);
        assert_eq!(written(&mut calls, 6), [(6, "o\n".to_owned())]);
        assert!(!calls.has_unlogged(i64::MAX));
        calls.add_piece(&piece(8, "three\n", 30));
        calls.remove_call(&piece(0, "", 0).call);
        assert_eq!(written(&mut calls, 99), []);
    }
}
