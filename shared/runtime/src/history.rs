//! A run's history: the entries of its records, and the entries of children at the records of their ends.

use std::collections::{BTreeMap, VecDeque};

use djinn_core::entry::{Entry, Event};
use djinn_core::input::Input;
use djinn_core::journal::Record;
use tokio::task::{JoinError, JoinSet};

use crate::client::ClientStream;
use crate::ending::close_child;
use crate::pages::JournalPages;
use crate::port::clock::Clock;
use crate::port::page::PageSize;
use crate::port::{RunKey, StoreError};
use crate::world::Ports;

/// Sends a record to a client, after the entries of the children that ended with this record.
///
/// A child's entries are in its own journal. If that journal is unreadable, the client's stream ends, and the
/// client resumes at its cursor.
pub async fn show_record<P: Ports>(
    ports: &P,
    key: &RunKey,
    client: &mut ClientStream,
    record: &Record,
) {
    if !client.is_open() || record.number != client.connection().next_record_number() {
        return;
    }
    let entries = read_child_entries(ports, key, record).await;
    let now_ms = ports.clock().now_ms();
    match entries {
        Ok(entries) => client.send_record(record, &entries, now_ms),
        Err(error) => {
            tracing::warn!(%error, "what a run below did is not shown");
            client.hand_over(now_ms);
        }
    }
}

/// The maximum number of children's journals read in parallel.
const READ_AT_ONCE: usize = 16;

/// Reads the entries of the children that ended with a record, in the order of the run's history.
///
/// # Errors
/// Returns [`StoreError`] if a child's journal cannot be read or closed.
pub async fn read_child_entries<P: Ports>(
    ports: &P,
    key: &RunKey,
    record: &Record,
) -> Result<Vec<Entry>, StoreError> {
    let mut reading = JoinSet::new();
    let mut entries = BTreeMap::new();
    for (nth, ending) in child_histories(key, record).into_iter().enumerate() {
        let ports = ports.clone();
        reading.spawn(async move { (nth, ending.read_all_entries(&ports).await) });
        if reading.len() >= READ_AT_ONCE {
            collect_entries(reading.join_next().await, &mut entries)?;
        }
    }
    while !reading.is_empty() {
        collect_entries(reading.join_next().await, &mut entries)?;
    }
    Ok(entries.into_values().flatten().collect())
}

type JoinedEntries = Option<Result<(usize, Result<Vec<Entry>, StoreError>), JoinError>>;

fn collect_entries(
    read: JoinedEntries,
    entries: &mut BTreeMap<usize, Vec<Entry>>,
) -> Result<(), StoreError> {
    if let Some(read) = read {
        let (nth, read) = read.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        entries.insert(nth, read?);
    }
    Ok(())
}

/// The entries of a child that ended with a record of its parent, as read for a viewer.
pub(crate) struct ChildHistory {
    key: RunKey,
    /// True if a driver may still work on the child.
    may_be_running: bool,
    pages: JournalPages,
    /// Read records that are not yet returned.
    records: VecDeque<Record>,
    /// The children that ended with the next of these records; their entries come first.
    below: VecDeque<Self>,
}

impl ChildHistory {
    fn new(key: RunKey, is_given_up: bool) -> Self {
        // Record 0 is skipped: it has no entry, and may be long.
        Self {
            key,
            may_be_running: is_given_up,
            pages: JournalPages::starting_at(1, PageSize::FOR_VIEWER),
            records: VecDeque::new(),
            below: VecDeque::new(),
        }
    }

    /// Reads all entries of the child and the runs below.
    async fn read_all_entries<P: Ports>(mut self, ports: &P) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        self.pages = JournalPages::starting_at(1, PageSize::FOR_FOLD);
        while let Some(more) = self.next_entries(ports).await? {
            entries.extend(more);
        }
        Ok(entries)
    }

    /// Returns the next entries of the child and the runs below; `None` after the last entries.
    ///
    /// # Errors
    /// Returns [`StoreError`] if entries cannot be read; the next call reads the same entries.
    pub(crate) async fn next_entries<P: Ports>(
        &mut self,
        ports: &P,
    ) -> Result<Option<Vec<Entry>>, StoreError> {
        if self.may_be_running {
            close_child(ports, &self.key).await?;
            self.may_be_running = false;
        }
        loop {
            if let Some(child) = self.below.front_mut() {
                // The depth of a tree is limited.
                match Box::pin(child.next_entries(ports)).await? {
                    Some(entries) => return Ok(Some(entries)),
                    None => drop(self.below.pop_front()),
                }
                if self.below.is_empty() {
                    return Ok(Some(self.take_entries(1)));
                }
                continue;
            }
            if self.records.is_empty() {
                match self.pages.next_page(ports, &self.key).await? {
                    Some(records) => self.records.extend(records),
                    None => return Ok(None),
                }
            }
            let ends_child = |record: &Record| !child_histories(&self.key, record).is_empty();
            let before = self.records.iter().take_while(|record| !ends_child(record)).count();
            if before > 0 || self.records.is_empty() {
                return Ok(Some(self.take_entries(before)));
            }
            if let Some(record) = self.records.front() {
                self.below = child_histories(&self.key, record);
            }
        }
    }

    fn take_entries(&mut self, records: usize) -> Vec<Entry> {
        let first_records = self.records.drain(..records.min(self.records.len()));
        let entries = first_records.flat_map(|record| record.entries);
        entries.map(|entry| entry.below(&self.key.path)).collect()
    }
}

/// Returns the children that ended with a record, in order. An abandoned child may still be at work: its
/// journal is closed before the first read, so that every viewer sees the same entries.
pub(crate) fn child_histories(key: &RunKey, record: &Record) -> VecDeque<ChildHistory> {
    let children = record.entries.iter().filter_map(|entry| {
        if let Event::ChildEnded { child, .. } = &entry.event { Some(child) } else { None }
    });
    let ending = children.map(|child| {
        let is_it =
            |input: &Input| matches!(input, Input::ChildEnded(e) if e.report.child == *child);
        let is_given_up = !record.inputs.iter().any(is_it);
        ChildHistory::new(key.with_child(child.clone()), is_given_up)
    });
    ending.collect()
}
