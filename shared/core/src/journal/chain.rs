//! The chain of a journal's record hashes, and its verification.

use serde::{Deserialize, Serialize};

use super::text::{RecordHash, RecordText};

/// The last record of a journal, at some time.
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
    /// The last records are missing.
    #[error("{}", describe_range(*.0, *.1))]
    Truncated(u64, u64),
    /// The record is not the one that is noted apart from the records.
    #[error("record {0} is not the one that the run's metadata names")]
    OtherHead(u64),
}

fn describe_range(first: u64, last: u64) -> String {
    if first == last {
        format!("record {first} is missing")
    } else {
        format!("records {first} to {last} are missing")
    }
}

/// A verification of a journal's records, one by one from the first.
#[derive(Debug)]
pub struct ChainVerifier {
    journal: String,
    noted: Option<ChainHead>,
    head: ChainHead,
}

impl ChainVerifier {
    /// Starts with the journal's name, and the head of the chain as noted apart from the records. Missing last
    /// records are detected up to this head.
    #[must_use]
    pub fn new(journal: String, noted: Option<ChainHead>) -> Self {
        let head = ChainHead { records: 0, hash: RecordHash::default() };
        Self { journal, noted, head }
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
        let noted = self.noted.as_ref().filter(|noted| noted.records == self.head.records);
        if noted.is_some_and(|noted| *noted != self.head) {
            return Err(ChainError::OtherHead(number));
        }
        Ok(())
    }

    /// Verifies that no record is missing at the end, and returns the head of the chain.
    ///
    /// # Errors
    /// Returns [`ChainError`] if the journal is empty, or noted records are missing.
    pub fn finish(self) -> Result<ChainHead, ChainError> {
        let records = self.head.records;
        match self.noted {
            Some(noted) if noted.records > records => {
                Err(ChainError::Truncated(records, noted.records - 1))
            }
            _ if records == 0 => Err(ChainError::Missing(0)),
            _ => Ok(self.head),
        }
    }
}
