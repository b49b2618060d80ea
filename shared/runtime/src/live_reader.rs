//! Reading the live log of a run: what several writers add, each thing once. The log loses what is old
//! and leaves out what is large; what a viewer misses of a child is read in the child's journal.

mod children_at_work;
mod missing_entries;

use std::collections::{BTreeMap, VecDeque};

pub(crate) use children_at_work::ChildrenAtWork;
use djinn_protocol::call_progress::CallProgress;
use djinn_protocol::connection::MissingEntry;
use djinn_protocol::preview::{Live, Preview};
use missing_entries::MissingEntries;

use crate::port::clock::Clock;
use crate::port::live::{LIVE_RETENTION, LiveFrom, LiveLog};
use crate::port::{RunKey, StoreError};
use crate::settings::to_millis;
use crate::world::Ports;

/// How long a write may be behind one of a later moment and is still seen.
const MAX_LATENESS_MS: i64 = 2_000;

/// How often what came late is looked for.
const RECHECK_EVERY_MS: i64 = 500;

/// Where a reader of a live log is.
///
/// Positions follow the moments of writes, which arrive in another order: where several write, a
/// reader now and then goes back to where it was before, and passes over what it has seen.
#[derive(Debug, Default)]
pub(crate) struct LiveReader {
    /// Where it was when, Unix milliseconds, oldest first.
    positions: VecDeque<(i64, LiveFrom)>,
    /// What it has seen since, and when it last did.
    seen_ids: BTreeMap<String, i64>,
    /// Whether anybody but the run's own driver writes.
    has_other_writers: bool,
    recheck_at_ms: i64,
    missing: MissingEntries,
}

impl LiveReader {
    /// What was written since the last time, and what the client has missed for longer than it may be
    /// late: of these runs, from these places on.
    ///
    /// # Errors
    /// [`StoreError`] when the log cannot be read now.
    pub(crate) async fn read_new<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
        misses: &[MissingEntry],
    ) -> Result<Vec<Live>, StoreError> {
        let now_ms = ports.clock().now_ms();
        let from = self.next_position(now_ms);
        let (mut read, position) = ports.store().read_live(key, &from).await?;
        self.has_other_writers |= read.iter().any(|live| !live.path().is_root());
        read.retain(|live| self.seen_ids.insert(live_id(live), now_ms).is_none());
        self.positions.push_back((now_ms, position));
        read.extend(self.missing.read_due(ports, key, misses).await);
        Ok(read)
    }

    /// Where to read from: behind what it has read, or where it was as long ago as a write may be late.
    /// What is older than the log keeps was never for a reader that comes now, though it may be there
    /// still.
    fn next_position(&mut self, now_ms: i64) -> LiveFrom {
        let kept_since_ms = now_ms.saturating_sub(to_millis(LIVE_RETENTION));
        if self.positions.back().is_some_and(|(at_ms, _)| *at_ms < kept_since_ms) {
            self.positions.clear();
        }
        let goes_back = self.recheck_at_ms <= now_ms;
        if goes_back {
            self.recheck_at_ms = now_ms.saturating_add(RECHECK_EVERY_MS);
            while self.positions.get(1).is_some_and(|(at_ms, _)| *at_ms <= now_ms - MAX_LATENESS_MS)
            {
                self.positions.pop_front();
            }
            self.seen_ids.retain(|_, at_ms| *at_ms >= now_ms - 2 * MAX_LATENESS_MS);
        }
        let position = match goes_back && self.has_other_writers {
            true => self.positions.front(),
            false => self.positions.back(),
        };
        let first = || LiveFrom::Moment(kept_since_ms);
        position.map_or_else(first, |(_, position)| position.clone())
    }
}

/// Tells what was seen from what was not.
fn live_id(live: &Live) -> String {
    match live {
        Live::Entry(early) => early.entry.id.to_string(),
        Live::Preview(Preview { path, message, attempt, kind, offset, text, .. }) => {
            format!("{path}/{message}/{attempt}/{kind:?}/{offset}+{}", text.len())
        }
        Live::Progress(CallProgress { path, call, began_at_ms, offset, text, .. }) => {
            format!("{path}/{call}/{began_at_ms}/{offset}+{}", text.len())
        }
    }
}
