//! Which records were read, and by whom.

use djinn_core::journal::Record;
use djinn_runtime::port::RunKey;

use super::MemoryStore;

/// A record that a store returned to a reader.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordRead {
    /// The run whose journal was read.
    pub run: RunKey,
    /// The number of the record.
    pub number: u64,
    /// The process that read it; 0 for whoever is none.
    pub process: u64,
}

impl MemoryStore {
    /// The records that were returned since the log was cleared, each as often as that.
    #[must_use]
    pub fn record_reads(&self) -> Vec<RecordRead> {
        self.lock_faults().record_reads.clone()
    }

    pub(super) fn log_record_reads(&self, key: &RunKey, records: &[Record]) {
        let process = self.process;
        let reads = records.iter().map(|record| record.number);
        let reads = reads.map(|number| RecordRead { run: key.clone(), number, process });
        self.lock_faults().record_reads.extend(reads);
    }
}
