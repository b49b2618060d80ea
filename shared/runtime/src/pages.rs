//! Reading a journal page by page, so that nobody holds all of it.

use djinn_core::entry::Event;
use djinn_core::journal::{FoldError, Journal, Record};

use crate::port::journal::Journals;
use crate::port::page::PageSize;
use crate::port::{RunKey, StoreError};
use crate::world::Ports;

/// Where a reader of a journal is.
pub(crate) struct JournalPages {
    from: u64,
    size: PageSize,
    more: bool,
}

impl JournalPages {
    /// From this record on, in pages that begin with this size.
    pub(crate) fn starting_at(from: u64, size: PageSize) -> Self {
        Self { from, size, more: true }
    }

    /// Whether there is another page.
    pub(crate) fn has_more(&self) -> bool {
        self.more
    }

    /// The next page; `None` behind the last one.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be read; the same page is read next time.
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

/// What was found of a journal that was read through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct JournalExtent {
    /// How many records there are from the first one on, without a gap.
    pub(crate) records: u64,
    /// Whether there are more behind a gap: expired ones go one by one, in no order.
    pub(crate) has_gap: bool,
    /// Whether the final entry is among those before it.
    pub(crate) has_end: bool,
}

impl JournalExtent {
    /// Takes the next record. Returns whether it is the one that follows.
    pub(crate) fn extend_with(&mut self, record: &Record) -> bool {
        self.has_gap |= record.number != self.records;
        if !self.has_gap {
            self.records += 1;
            self.has_end |= has_final_entry(record);
        }
        !self.has_gap
    }

    /// Whether this is a journal from its beginning on, and to its end if it has one.
    pub(crate) fn is_complete(&self, has_ended: bool) -> bool {
        self.records > 0 && !self.has_gap && (self.has_end || !has_ended)
    }
}

/// Whether the final entry is in this record.
pub(crate) fn has_final_entry(record: &Record) -> bool {
    record.entries.iter().any(|entry| matches!(entry.event, Event::RunEnded(_)))
}

/// Reads a journal through, up to its first gap.
///
/// # Errors
/// [`StoreError`] when it cannot be read, or what `see` returns.
pub(crate) async fn read_records<P: Ports>(
    ports: &P,
    key: &RunKey,
    mut see: impl FnMut(&Record) -> Result<(), StoreError> + Send,
) -> Result<JournalExtent, StoreError> {
    let mut pages = JournalPages::starting_at(0, PageSize::FOR_FOLD);
    let mut extent = JournalExtent::default();
    while let Some(records) = pages.next_page(ports, key).await? {
        for record in &records {
            if !extent.extend_with(record) {
                return Ok(extent);
            }
            see(record)?;
        }
    }
    Ok(extent)
}

/// A journal as far as it was read: a later look goes on from there.
#[derive(Debug, Default)]
pub(crate) struct JournalReader {
    journal: Option<Journal>,
    extent: JournalExtent,
}

impl JournalReader {
    /// Reads the records that were added since the last look, up to the first gap, and shows each of them
    /// to `see`.
    ///
    /// # Errors
    /// [`StoreError`] when one cannot be read or folded; the next look begins with that one.
    pub(crate) async fn advance<P: Ports>(
        &mut self,
        ports: &P,
        key: &RunKey,
        mut see: impl FnMut(&Record) + Send,
    ) -> Result<(), StoreError> {
        // What was missing may have been written while the page was read.
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

    /// What the last look found, up to its first gap.
    pub(crate) fn extent(&self) -> JournalExtent {
        self.extent
    }

    /// The journal as it was at the last look.
    ///
    /// # Errors
    /// [`StoreError`] when there was none, or one with a gap.
    pub(crate) fn journal(&self) -> Result<&Journal, StoreError> {
        match &self.journal {
            Some(journal) if !self.extent.has_gap => Ok(journal),
            Some(_) => Err(to_store_error(&FoldError::Gap(self.extent.records))),
            None => Err(to_store_error(&FoldError::NoQuestion)),
        }
    }

    /// The same, for whoever reads no further.
    ///
    /// # Errors
    /// Those of [`Self::journal`].
    pub(crate) fn into_journal(self) -> Result<Journal, StoreError> {
        self.journal()?;
        self.journal.ok_or_else(|| to_store_error(&FoldError::NoQuestion))
    }
}

/// The journal of a run.
///
/// # Errors
/// [`StoreError`] when it cannot be read or folded, or has expired.
pub(crate) async fn read_journal<P: Ports>(ports: &P, key: &RunKey) -> Result<Journal, StoreError> {
    read_journal_with(ports, key, |_| {}).await
}

/// The journal of a run, each record of which is shown to `see`.
///
/// # Errors
/// [`StoreError`] when it cannot be read or folded, or has expired.
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
