//! Reading the live log of a run: what several writers add, each thing once.

use std::collections::{BTreeSet, VecDeque};

use djinn_core::preview::{Live, Preview};

use crate::port::clock::Clock;
use crate::port::live::LiveLog;
use crate::port::{Ports, RunKey, StoreError};

/// How long a write may be behind one of a later moment and is still seen.
const LATEST_MS: i64 = 1_000;

/// Where a reader of a live log is.
///
/// Positions follow the moments of writes, which arrive in another order: where several write, a
/// reader goes on from where it was a second ago, and passes over what it has seen.
#[derive(Debug, Default)]
pub(crate) struct LiveReader {
    /// Where it was when, Unix milliseconds, oldest first.
    positions: VecDeque<(i64, String)>,
    /// What came after the oldest of these positions.
    seen: BTreeSet<String>,
    /// Whether anybody but the run's own driver writes.
    several: bool,
}

impl LiveReader {
    /// What was written since the last time.
    ///
    /// # Errors
    /// [`StoreError`] when the log cannot be read now.
    pub(crate) async fn read<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
    ) -> Result<Vec<Live>, StoreError> {
        let now_ms = ports.clock().now_ms();
        let keep = if self.several { LATEST_MS } else { 0 };
        while self.positions.get(1).is_some_and(|(at_ms, _)| *at_ms <= now_ms - keep) {
            self.positions.pop_front();
        }
        let after = self.positions.front().map_or("", |(_, position)| position.as_str());
        let (mut read, position) = ports.store().read_live(key, after).await?;
        self.several |= read.iter().any(|live| live.within().is_some());
        let names: BTreeSet<String> = read.iter().map(name).collect();
        read.retain(|live| !self.seen.contains(&name(live)));
        self.seen = names;
        self.positions.push_back((now_ms, position));
        Ok(read)
    }
}

/// Tells what was seen from what was not.
fn name(live: &Live) -> String {
    match live {
        Live::Entry(early) => early.entry.id.clone(),
        Live::Piece(Preview { within, message, attempt, kind, offset, text, .. }) => {
            let within = within.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{within}/{message}/{attempt}/{kind:?}/{offset}+{}", text.len())
        }
    }
}
