//! The live log: previews and early entries of active runs.

use std::ops::Bound;

use djinn_protocol::preview::Live;
use djinn_runtime::port::live::LiveFrom;
use djinn_runtime::port::{RunKey, StoreError};

use super::{State, check_item_size, to_json};

impl State {
    pub(super) fn write_live(
        &mut self,
        key: &RunKey,
        writer: &str,
        at_ms: i64,
        pieces: &[Live],
    ) -> Result<(), StoreError> {
        check_item_size(to_json(&pieces)?.len())?;
        if let Some(first) = pieces.first() {
            let place = match first {
                Live::Preview(piece) => piece.offset,
                Live::Progress(piece) => piece.offset,
                Live::Entry(early) => early.index,
            };
            let position = format!("{:013}#{writer}#{place:010}", at_ms.max(0));
            let live = &mut self.runs.entry(key.clone()).or_default().live;
            live.insert(position, pieces.to_vec());
        }
        Ok(())
    }

    pub(super) fn read_live(&mut self, key: &RunKey, from: &LiveFrom) -> (Vec<Live>, LiveFrom) {
        let first = match from {
            LiveFrom::Moment(at_ms) => Bound::Included(format!("{at_ms:013}")),
            LiveFrom::Position(position) => Bound::Excluded(position.clone()),
        };
        let after_it = (first, Bound::Unbounded);
        let entries =
            self.runs.get(key).into_iter().flat_map(|run| run.live.range(after_it.clone()));
        let mut pieces = Vec::new();
        let mut position = from.clone();
        let visible_count = match &mut self.chance {
            // Reads are eventually consistent.
            Some(chance) => chance.usize(0..=entries.clone().count()),
            None => usize::MAX,
        };
        for (at, more) in entries.take(visible_count) {
            pieces.extend(more.iter().cloned());
            position = LiveFrom::Position(at.clone());
        }
        (pieces, position)
    }
}
