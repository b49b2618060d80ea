//! Parts of a journal, as read from the store.

use djinn_core::journal::Record;

/// The size of one read of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize {
    /// The maximum number of records.
    pub records: usize,
    /// The maximum stored size in bytes; a single record may be larger.
    pub bytes: usize,
}

/// Consecutive records of a journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T = Record> {
    /// The records, in order.
    pub records: Vec<T>,
    /// The stored size of the records, in bytes.
    pub bytes: usize,
    /// True if more records may follow.
    pub has_more: bool,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self { records: Vec::new(), bytes: 0, has_more: false }
    }
}

/// The maximum number of records of any page.
const MAX_RECORDS: usize = 1_000;

impl PageSize {
    /// For a viewer, whose unread records stay in memory.
    pub const FOR_VIEWER: Self = Self { records: 32, bytes: 128 * 1024 };
    /// For a fold, which drops each record at once.
    pub const FOR_FOLD: Self = Self { records: 256, bytes: 1024 * 1024 };

    /// Returns the size of the next page, with about as many records as fit: records that do not fit are
    /// read, and paid for, twice.
    #[must_use]
    pub fn next_size<T>(self, page: &Page<T>) -> Self {
        let each = page.bytes.checked_div(page.records.len()).unwrap_or_default().max(1);
        let most = self.records.saturating_mul(2).clamp(1, MAX_RECORDS);
        Self { records: (self.bytes / each).clamp(1, most), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use djinn_core::id::WriteId;
    use djinn_core::journal::{FORMAT, RecordHash};

    fn page(records: u64, bytes: usize) -> Page {
        let write = WriteId::new("w").unwrap();
        let record = |n| Record {
            format: FORMAT,
            number: n,
            write: write.clone(),
            epoch: 1,
            at_ms: 0,
            previous: RecordHash::default(),
            hash: None,
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
