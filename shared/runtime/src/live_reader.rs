//! Reading a run's live log, where several writers add items, and returning each item once. The log loses old
//! items and leaves out large items. Missing entries of a child are read from the child's journal.

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

/// Milliseconds by which a write may appear after a later write.
const MAX_LATENESS_MS: i64 = 2_000;

/// Milliseconds between two checks for late writes.
const RECHECK_EVERY_MS: i64 = 500;

/// The position of a reader in a live log.
///
/// Positions follow the times of writes, but writes arrive in another order. With several writers, a reader
/// regularly goes back and skips items already seen.
#[derive(Debug, Default)]
pub(crate) struct LiveReader {
    /// Earlier positions with their times in Unix milliseconds, oldest first.
    positions: VecDeque<(i64, LiveFrom)>,
    /// Ids of items seen since the oldest position, with the time each was seen.
    seen_ids: BTreeMap<String, i64>,
    /// True if drivers other than the run's own write.
    has_other_writers: bool,
    recheck_at_ms: i64,
    missing: MissingEntries,
}

impl LiveReader {
    /// Returns the items written since the last read, and `misses` that are overdue, read from the journals.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the log cannot be read now.
    pub(crate) async fn read_new<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
        misses: &[MissingEntry],
    ) -> Result<Vec<Live>, StoreError> {
        let now_ms = ports.clock().now_ms();
        let from = self.next_position(now_ms);
        let (mut news, position) = ports.store().read_live(key, &from).await?;
        self.has_other_writers |= news.iter().any(|live| !live.path().is_root());
        news.retain(|live| self.seen_ids.insert(live_id(live), now_ms).is_none());
        self.positions.push_back((now_ms, position));
        news.extend(self.missing.read_due(ports, key, misses).await);
        Ok(news)
    }

    /// Returns the position for the next read: behind the last item, or earlier by the maximum lateness.
    /// Items older than the log's retention are skipped, even if still stored.
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
        let position = if goes_back && self.has_other_writers {
            self.positions.front()
        } else {
            self.positions.back()
        };
        let first = || LiveFrom::Moment(kept_since_ms);
        position.map_or_else(first, |(_, position)| position.clone())
    }
}

/// Returns an id for an item, unique in the log.
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
