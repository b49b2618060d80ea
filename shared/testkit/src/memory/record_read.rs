//! The log of record reads, by process.

use djinn_runtime::port::RunKey;

use super::MemoryStore;

/// A record returned to a reader.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordRead {
    /// The run of the journal.
    pub run: RunKey,
    /// The number of the record.
    pub number: u64,
    /// The reading process; 0 outside of processes.
    pub process: u64,
}

impl MemoryStore {
    /// Returns all record reads since the log was cleared, repeats included.
    #[must_use]
    pub fn record_reads(&self) -> Vec<RecordRead> {
        self.lock_faults().record_reads.clone()
    }

    pub(super) fn log_record_reads(&self, key: &RunKey, numbers: impl Iterator<Item = u64>) {
        let process = self.process;
        let reads = numbers.map(|number| RecordRead { run: key.clone(), number, process });
        self.lock_faults().record_reads.extend(reads);
    }
}
