//! Earlier entries of children at work, for a new viewer: the live log has only the newest entries.

use std::collections::{BTreeSet, VecDeque};

use djinn_core::id::Path;
use djinn_core::journal::Record;
use djinn_protocol::preview::{EarlyEntry, Live};
use tokio::task::JoinSet;

use crate::client::ClientStream;
use crate::pages::JournalPages;
use crate::port::clock::Clock;
use crate::port::page::PageSize;
use crate::port::{RunKey, StoreError};
use crate::world::Ports;

/// The maximum number of journals read at once.
const READ_AT_ONCE: usize = 16;

/// The journals of children at work, read level by level, for a client that has received the root's journal.
#[derive(Default)]
pub(crate) struct ChildrenAtWork {
    known_paths: BTreeSet<Path>,
    unread: VecDeque<ChildReader>,
}

impl ChildrenAtWork {
    /// Shows entries while the client has room. Returns true if all were shown. A journal that cannot be read
    /// now is read when its entries are missed.
    pub(crate) async fn show_next<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
        client: &mut ClientStream,
    ) -> bool {
        loop {
            client.send_previews(ports.clock().now_ms());
            if self.unread.is_empty() {
                let lanes = client.lanes_at_work().into_iter();
                let new = lanes.filter(|path| self.known_paths.insert(path.clone()));
                self.unread.extend(new.map(|path| ChildReader::of(key, path)));
            }
            if self.unread.is_empty() {
                // Waiting entries may reveal further children.
                return !client.is_open() || !client.connection().has_ready();
            }
            // Read nothing for a client that does not read.
            if !client.has_preview_room() {
                return false;
            }
            let group = self.unread.drain(..READ_AT_ONCE.min(self.unread.len())).collect();
            for page in read_pages(ports, group).await {
                client.send_live(&page.entries, ports.clock().now_ms());
                if page.reader.pages.has_more() {
                    self.unread.push_front(page.reader);
                }
            }
        }
    }

    /// Registers unshown entries as missing.
    pub(crate) fn leave_rest(self, client: &mut ClientStream) {
        for reader in self.unread {
            client.expect_entry(&reader.key.path, reader.next_entry);
        }
    }
}

async fn read_pages<P: Ports>(ports: &P, group: Vec<ChildReader>) -> Vec<ChildPage> {
    let mut reading = JoinSet::new();
    for reader in group {
        reading.spawn(read_page(ports.clone(), reader));
    }
    let mut pages = Vec::new();
    while let Some(task_result) = reading.join_next().await {
        match task_result {
            Ok(Ok(page)) => pages.push(page),
            Ok(Err(error)) => tracing::debug!(%error, "a run at work was not read"),
            Err(error) => tracing::error!(%error, "a run at work was not read"),
        }
    }
    pages
}

/// The journal of a child, read up to a position.
struct ChildReader {
    key: RunKey,
    pages: JournalPages,
    /// The index of the next entry in the journal.
    next_entry: u64,
}

impl ChildReader {
    fn of(key: &RunKey, path: Path) -> Self {
        // Record 0 holds the run spec, possibly long, and no entry.
        let pages = JournalPages::starting_at(1, PageSize::FOR_VIEWER);
        Self { key: RunKey { path, ..key.clone() }, pages, next_entry: 0 }
    }

    fn take_entries(&mut self, record: Record) -> Vec<Live> {
        let ends_at = self.next_entry + record.entries.len() as u64;
        let nth = self.next_entry..;
        self.next_entry = ends_at;
        let entries = nth.zip(record.entries).map(|(index, entry)| {
            let ends_record = index + 1 == ends_at;
            let entry = entry.below(&self.key.path);
            Live::Entry(Box::new(EarlyEntry { index, ends_record, entry }))
        });
        entries.collect()
    }
}

/// A page of a journal, and the reader for the next page.
struct ChildPage {
    reader: ChildReader,
    entries: Vec<Live>,
}

async fn read_page<P: Ports>(ports: P, mut reader: ChildReader) -> Result<ChildPage, StoreError> {
    let records = reader.pages.next_page(&ports, &reader.key).await?.unwrap_or_default();
    let entries = records.into_iter().flat_map(|record| reader.take_entries(record)).collect();
    Ok(ChildPage { reader, entries })
}
