//! Reads a journal page by page, so that no reader holds all records in memory.

use djinn_core::entry::Event;
use djinn_core::journal::{FoldError, Journal, Record};

use crate::port::journal::Journals;
use crate::port::page::PageSize;
use crate::port::{RunKey, StoreError};
use crate::world::Ports;

/// The position of a reader in a journal.
pub(crate) struct JournalPages {
    from: u64,
    size: PageSize,
    more: bool,
}

impl JournalPages {
    /// Starts at record `from`, with a first page of this size.
    pub(crate) fn starting_at(from: u64, size: PageSize) -> Self {
        Self { from, size, more: true }
    }

    /// Returns true if another page may follow.
    pub(crate) fn has_more(&self) -> bool {
        self.more
    }

    /// Returns the next page; `None` after the last page.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the page cannot be read; the next call reads the same page.
    pub(crate) async fn next_page<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
    ) -> Result<Option<Vec<Record>>, StoreError> {
        if !self.more {
            return Ok(None);
        }
        let page = ports.store().read_page(key, self.from, self.size).await?;
        self.size = self.size.next_size(&page);
        let last = page.records.last().map(|record| record.number.saturating_add(1));
        (self.from, self.more) = (last.unwrap_or(self.from), page.has_more && last.is_some());
        Ok(last.map(|_| page.records))
    }
}

/// The extent of a journal after reading all of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct JournalExtent {
    /// The number of records from the first record on, without a gap.
    pub(crate) records: u64,
    /// True if records follow after a gap: expired records are deleted one by one, in no order.
    pub(crate) has_gap: bool,
    /// True if the records before the gap contain the final entry.
    pub(crate) has_end: bool,
}

impl JournalExtent {
    /// Adds the next record. Returns true if the record follows without a gap.
    pub(crate) fn extend_with(&mut self, record: &Record) -> bool {
        self.has_gap |= record.number != self.records;
        if !self.has_gap {
            self.records += 1;
            self.has_end |= has_final_entry(record);
        }
        !self.has_gap
    }

    /// Returns true if the journal is complete from its beginning, and to its end if the run has ended.
    pub(crate) fn is_complete(&self, has_ended: bool) -> bool {
        self.records > 0 && !self.has_gap && (self.has_end || !has_ended)
    }
}

/// Returns true if the final entry is in this record.
pub(crate) fn has_final_entry(record: &Record) -> bool {
    record.entries.iter().any(|entry| matches!(entry.event, Event::RunEnded(_)))
}

/// A journal as far as it was read; a later call continues from there.
#[derive(Debug, Default)]
pub(crate) struct JournalReader {
    journal: Option<Journal>,
    extent: JournalExtent,
}

impl JournalReader {
    /// Reads the records added since the last call, up to the first gap, and passes each record to `see`.
    ///
    /// # Errors
    /// Returns [`StoreError`] if a record cannot be read or folded; the next call begins with the same
    /// record.
    pub(crate) async fn advance<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
        mut see: impl FnMut(&Record) + Send,
    ) -> Result<(), StoreError> {
        // A missing record may have been written while the page was read.
        self.extent.has_gap = false;
        let mut pages = JournalPages::starting_at(self.extent.records, PageSize::FOR_FOLD);
        while let Some(records) = pages.next_page(ports, key).await? {
            for record in &records {
                let mut extent = self.extent;
                if extent.extend_with(record) {
                    self.fold_record(record).map_err(|error| to_store_error(&error))?;
                    see(record);
                }
                self.extent = extent;
                if extent.has_gap {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn fold_record(&mut self, record: &Record) -> Result<(), FoldError> {
        match &mut self.journal {
            Some(journal) => journal.apply_record(record)?,
            None => self.journal = Some(Journal::fold(std::slice::from_ref(record))?),
        }
        Ok(())
    }

    /// Returns the extent of the last read, up to its first gap.
    pub(crate) fn extent(&self) -> JournalExtent {
        self.extent
    }

    /// Returns the journal of the last read.
    ///
    /// # Errors
    /// Returns [`StoreError`] if the journal is missing or has a gap.
    pub(crate) fn journal(&self) -> Result<&Journal, StoreError> {
        match &self.journal {
            Some(journal) if !self.extent.has_gap => Ok(journal),
            Some(_) => Err(to_store_error(&FoldError::Gap(self.extent.records))),
            None => Err(to_store_error(&FoldError::NoQuestion)),
        }
    }

    /// Returns the journal of the last read and ends the reader.
    ///
    /// # Errors
    /// Returns the errors of [`Self::journal`].
    pub(crate) fn into_journal(self) -> Result<Journal, StoreError> {
        self.journal()?;
        self.journal.ok_or_else(|| to_store_error(&FoldError::NoQuestion))
    }
}

/// Reads the journal of a run.
///
/// # Errors
/// Returns [`StoreError`] if the journal cannot be read or folded, or has expired.
pub(crate) async fn read_journal<P: Ports>(ports: &P, key: &RunKey) -> Result<Journal, StoreError> {
    read_journal_with(ports, key, |_| {}).await
}

/// Reads the journal of a run and passes each record to `see`.
///
/// # Errors
/// Returns [`StoreError`] if the journal cannot be read or folded, or has expired.
pub(crate) async fn read_journal_with<P: Ports>(
    ports: &P,
    key: &RunKey,
    see: impl FnMut(&Record) + Send,
) -> Result<Journal, StoreError> {
    let mut reader = JournalReader::default();
    reader.advance(ports, key, see).await?;
    reader.into_journal()
}

fn to_store_error(error: &FoldError) -> StoreError {
    match error {
        FoldError::NewerFormat(format) => StoreError::NewerFormat(*format),
        FoldError::NoQuestion | FoldError::Gap(_) => StoreError::Unreadable(error.to_string()),
    }
}
