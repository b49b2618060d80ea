//! Entries of children at work that a viewer misses, because the live log lost or never held them.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::id::Path;
use djinn_core::journal::Record;
use djinn_protocol::connection::MissingEntry;
use djinn_protocol::preview::{EarlyEntry, Live};
use tokio::task::JoinSet;

use super::MAX_LATENESS_MS;
use crate::pages::JournalPages;
use crate::port::clock::Clock;
use crate::port::page::PageSize;
use crate::port::{RunKey, StoreError};
use crate::world::Ports;

/// The maximum number of journals read at once, and the milliseconds between two reads.
const READ_AT_ONCE: usize = 8;
const READ_EVERY_MS: i64 = 1_000;

/// The maximum milliseconds between two reads of a journal without the missing entry.
const MAX_PAUSE_MS: i64 = 60_000;

/// Milliseconds during which the live log may still bring an entry known to be in a journal.
const RECORDED_LATENESS_MS: i64 = 500;

/// The children with missing entries, and the records read before.
#[derive(Debug, Default)]
pub(super) struct MissingEntries {
    gaps: BTreeMap<Path, Gap>,
    /// For each path, the numbers of known records, by the index of their first entry.
    known_records: BTreeMap<Path, BTreeMap<u64, u64>>,
    /// Children whose journal continues behind the page read last.
    unfinished: BTreeSet<Path>,
    read_at_ms: i64,
}

/// A missing entry of one child.
#[derive(Debug, Clone, Copy)]
struct Gap {
    nth: u64,
    /// The time of the next journal read, in Unix milliseconds.
    look_at_ms: i64,
    pause_ms: i64,
    /// True if the journal is known to hold the entry.
    is_recorded: bool,
}

impl MissingEntries {
    /// Reads overdue entries from the journals. Entries that cannot be read now are retried.
    pub(super) async fn read_due<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
        misses: &[MissingEntry],
    ) -> Vec<Live> {
        let now_ms = ports.clock().now_ms();
        let mut reading = JoinSet::new();
        for (path, nth) in self.take_due(misses, now_ms) {
            let (first, from) = self.start_position(&path, nth);
            let ports = ports.clone();
            let key = RunKey { path: path.clone(), ..key.clone() };
            reading.spawn(async move { (path, first, read_entry_page(&ports, &key, from).await) });
        }
        let mut entries = Vec::new();
        while let Some(task_result) = reading.join_next().await {
            match task_result {
                Ok((path, first, Ok((records, goes_on)))) => {
                    entries.extend(self.collect_entries(&path, first, &records));
                    if goes_on {
                        self.unfinished.insert(path);
                    }
                }
                Ok((path, _, Err(error))) => {
                    tracing::debug!(%error, %path, "what is missing of a path was not read");
                }
                Err(error) => tracing::error!(%error, "what is missing of a path was not read"),
            }
        }
        entries
    }

    /// Returns the entries to read now, the longest overdue first.
    fn take_due(&mut self, misses: &[MissingEntry], now_ms: i64) -> Vec<(Path, u64)> {
        let before = std::mem::take(&mut self.gaps);
        for MissingEntry { path, nth, is_recorded } in misses {
            let lateness_ms = if *is_recorded { RECORDED_LATENESS_MS } else { MAX_LATENESS_MS };
            let fresh = Gap {
                nth: *nth,
                look_at_ms: now_ms + lateness_ms,
                pause_ms: MAX_LATENESS_MS,
                is_recorded: *is_recorded,
            };
            let is_same = |gap: &&Gap| gap.nth == *nth && gap.is_recorded == *is_recorded;
            let mut gap = before.get(path).filter(is_same).copied().unwrap_or(fresh);
            if self.unfinished.remove(path) {
                gap.look_at_ms = now_ms;
            }
            self.gaps.insert(path.clone(), gap);
        }
        if now_ms < self.read_at_ms {
            return Vec::new();
        }
        let mut due: Vec<(&Path, &mut Gap)> =
            self.gaps.iter_mut().filter(|(_, gap)| gap.look_at_ms <= now_ms).collect();
        due.sort_by_key(|(_, gap)| gap.look_at_ms);
        due.truncate(READ_AT_ONCE);
        if !due.is_empty() {
            self.read_at_ms = now_ms + READ_EVERY_MS;
        }
        let positions = due.into_iter().map(|(path, gap)| {
            gap.pause_ms = (gap.pause_ms * 2).min(MAX_PAUSE_MS);
            gap.look_at_ms = now_ms + gap.pause_ms;
            (path.clone(), gap.nth)
        });
        positions.collect()
    }

    /// Returns the index of the first entry and the number of the newest known record at or before entry
    /// `nth`. Record 0 holds the run spec, possibly long, and no entry.
    fn start_position(&self, path: &Path, nth: u64) -> (u64, u64) {
        let position =
            self.known_records.get(path).and_then(|positions| positions.range(..=nth).next_back());
        position.map_or((0, 1), |(first, record)| (*first, *record))
    }

    /// Returns the entries of records. `first` is the index of the first entry.
    fn collect_entries(&mut self, path: &Path, first: u64, records: &[Record]) -> Vec<Live> {
        let positions = self.known_records.entry(path.clone()).or_default();
        let mut nth = first;
        let mut entries = Vec::new();
        for record in records {
            let ends_at = nth + record.entries.len() as u64;
            for entry in &record.entries {
                let ends_record = nth + 1 == ends_at;
                let entry = entry.clone().below(path);
                entries.push(Live::Entry(Box::new(EarlyEntry { index: nth, ends_record, entry })));
                nth += 1;
            }
            // Of several records at one index, the last one has the next entry.
            positions.insert(nth, record.number + 1);
        }
        entries
    }
}

/// Returns the first records from `from` with an entry, and true if more follow.
async fn read_entry_page<P: Ports>(
    ports: &P,
    key: &RunKey,
    from: u64,
) -> Result<(Vec<Record>, bool), StoreError> {
    let mut pages = JournalPages::starting_at(from, PageSize::FOR_VIEWER);
    let mut records: Vec<Record> = Vec::new();
    while records.iter().all(|record| record.entries.is_empty()) {
        match pages.next_page(ports, key).await? {
            Some(more) => records.extend(more),
            None => break,
        }
    }
    Ok((records, pages.has_more()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::id::ChildId;

    #[test]
    fn a_missing_entry_is_read_once_it_can_no_longer_be_late_and_ever_less_often() {
        let mut missing = MissingEntries::default();
        let child = Path::to(ChildId::for_step(1, 1));
        let misses = |nth, is_recorded| [MissingEntry { path: child.clone(), nth, is_recorded }];
        let mut looked = Vec::new();
        for now_ms in (0..=200_000).step_by(250) {
            if !missing.take_due(&misses(3, false), now_ms).is_empty() {
                looked.push(now_ms);
            }
        }
        assert_eq!(looked, [2_000, 6_000, 14_000, 30_000, 62_000, 122_000, 182_000]);
        // It came, and something else is missing.
        assert_eq!(missing.take_due(&misses(4, false), 200_250), []);
        assert_eq!(missing.take_due(&misses(4, false), 202_250), [(child.clone(), 4)]);
        // The end of the run has come, so the entry is in its journal.
        assert_eq!(missing.take_due(&misses(4, true), 203_250), []);
        assert_eq!(missing.take_due(&misses(4, true), 203_750), [(child.clone(), 4)]);
    }

    #[test]
    fn a_crowd_is_looked_after_a_few_at_a_time_and_each_in_its_turn() {
        let mut missing = MissingEntries::default();
        let crowd = (1..=20).map(|step| Path::to(ChildId::for_step(step, 1)));
        let crowd: Vec<MissingEntry> =
            crowd.map(|path| MissingEntry { path, nth: 0, is_recorded: false }).collect();
        let mut looked = Vec::new();
        for now_ms in (0..=4_000).step_by(250) {
            looked.extend(
                missing.take_due(&crowd, now_ms).into_iter().map(|(child, _)| (now_ms, child)),
            );
        }
        let times: Vec<i64> = looked.iter().map(|(at_ms, _)| *at_ms).collect();
        assert_eq!(times, [[2_000; 8].as_slice(), &[3_000; 8], &[4_000; 4]].concat());
        looked.sort_by(|(_, a), (_, b)| a.cmp(b));
        looked.dedup_by(|(_, a), (_, b)| a == b);
        assert_eq!(looked.len(), 20);
    }
}
