//! Parts of a journal, as they are read.

use djinn_core::journal::Record;

/// How much of a journal is read at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize {
    /// Records that are read at most.
    pub records: usize,
    /// Bytes that they take up as they are stored, at most, unless it is one record.
    pub bytes: usize,
}

/// Consecutive records of a journal.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The records, in order.
    pub records: Vec<Record>,
    /// Bytes that they take up as they are stored.
    pub bytes: usize,
    /// Whether there may be more behind them.
    pub has_more: bool,
}

/// No page has more records.
const MAX_RECORDS: usize = 1_000;

impl PageSize {
    /// For somebody who is shown them: what waits until it is read is kept in memory, for each viewer.
    pub const FOR_VIEWER: Self = Self { records: 32, bytes: 128 * 1024 };
    /// For a fold, which drops them at once.
    pub const FOR_FOLD: Self = Self { records: 256, bytes: 1024 * 1024 };

    /// The size of the page after this one, so that about as many records are read as fit: what does not
    /// is read again, and paid for twice.
    #[must_use]
    pub fn next_size(self, page: &Page) -> Self {
        let each = page.bytes.checked_div(page.records.len()).unwrap_or_default().max(1);
        let most = self.records.saturating_mul(2).clamp(1, MAX_RECORDS);
        Self { records: (self.bytes / each).clamp(1, most), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::id::WriteId;
    use djinn_core::journal::FORMAT;

    fn page(records: u64, bytes: usize) -> Page {
        let write = WriteId::new("w").unwrap();
        let record = |n| Record {
            format: FORMAT,
            number: n,
            write: write.clone(),
            epoch: 1,
            at_ms: 0,
            inputs: Vec::new(),
            entries: Vec::new(),
        };
        Page { records: (0..records).map(record).collect(), bytes, has_more: true }
    }

    #[test]
    fn the_next_page_has_as_many_records_as_fit_if_they_are_like_these_and_at_most_twice_as_many() {
        let of = |records, bytes| PageSize::FOR_VIEWER.next_size(&page(records, bytes)).records;
        assert_eq!((of(32, 80 * 1024), of(8, 128 * 1024)), (51, 8));
        assert_eq!((of(1, 9_000_000), of(32, 32), of(0, 0)), (1, 64, 64));
    }
}
