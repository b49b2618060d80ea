//! The chain of a journal's record hashes, and its verification.

use serde::{Deserialize, Serialize};

use super::text::{RecordHash, RecordText};

/// The end of a journal's chain, as known apart from the records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    /// The number of records.
    pub records: u64,
    /// The hash of the last record.
    pub hash: RecordHash,
}

/// The first record of a journal that is not as written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// The record is not in its place: deleted, or exchanged with another one.
    #[error("record {0} is missing")]
    Missing(u64),
    /// The bytes of the record do not have the record's hash.
    #[error("record {0} was changed")]
    Changed(u64),
    /// The record before is not the record that this one was written after.
    #[error("record {0} was not written after the record before it")]
    Unlinked(u64),
    /// The last records of an ended run are missing.
    #[error("records {0} to {1} are missing")]
    Truncated(u64, u64),
    /// The record is not the one that ended the run.
    #[error("record {0} is not the one that ended the run")]
    OtherEnd(u64),
}

/// A verification of a journal's records, one by one from the first.
#[derive(Debug)]
pub struct ChainVerifier {
    journal: String,
    end: Option<ChainHead>,
    head: ChainHead,
}

impl ChainVerifier {
    /// Starts with the journal's name, and the chain's head at the end of the run. `None` for an active run:
    /// missing last records are then not detected.
    #[must_use]
    pub fn new(journal: String, end: Option<ChainHead>) -> Self {
        let head = ChainHead { records: 0, hash: RecordHash::default() };
        Self { journal, end, head }
    }

    /// Verifies the next record.
    ///
    /// # Errors
    /// Returns [`ChainError`] if the record is not as written, or not the next one.
    pub fn add_record(&mut self, text: &RecordText) -> Result<(), ChainError> {
        let number = self.head.records;
        if text.number != number {
            return Err(ChainError::Missing(number));
        }
        if text.compute_hash(&self.journal) != text.hash {
            return Err(ChainError::Changed(number));
        }
        if text.previous != self.head.hash {
            return Err(ChainError::Unlinked(number));
        }
        self.head = ChainHead { records: number + 1, hash: text.hash.clone() };
        match &self.end {
            Some(end) if end.records == self.head.records && end.hash != self.head.hash => {
                Err(ChainError::OtherEnd(number))
            }
            _ => Ok(()),
        }
    }

    /// Verifies that no record is missing at the end, and returns the head of the chain.
    ///
    /// # Errors
    /// Returns [`ChainError`] if the journal is empty, or records of an ended run are missing.
    pub fn finish(self) -> Result<ChainHead, ChainError> {
        let records = self.head.records;
        match self.end {
            Some(end) if end.records > records => {
                Err(ChainError::Truncated(records, end.records - 1))
            }
            _ if records == 0 => Err(ChainError::Missing(0)),
            _ => Ok(self.head),
        }
    }
}
