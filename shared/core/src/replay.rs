//! Replay of journals: processes their inputs again and compares the records.

use serde::{Deserialize, Serialize};

use crate::id::Path;
use crate::journal::{FoldError, Journal, Record};

/// A record of a tree of runs in the form of saved replays: one JSON line each, runs above before runs below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedRecord {
    /// The path from the root to the run.
    pub path: Path,
    /// The record in the journal.
    pub record: Record,
}

/// The first record of a journal that differs from the record of the current code.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayDifference {
    /// The record in the journal.
    pub kept: Box<Record>,
    /// The record of the current code for the same inputs; `None` if the code ignores all inputs.
    pub decided: Option<Box<Record>>,
}

/// Replays the records of a journal from the first, and returns the first difference.
///
/// # Errors
/// Returns [`FoldError`] if records are missing or have a newer format.
pub fn find_difference(records: &[Record]) -> Result<Option<ReplayDifference>, FoldError> {
    let (first, rest) = records.split_first().ok_or(FoldError::NoQuestion)?;
    let mut journal = Journal::fold(std::slice::from_ref(first))?;
    if let Some(spec) = first.question() {
        let (_, record) =
            Journal::open(spec.clone(), first.epoch, first.write.clone(), first.at_ms);
        if !is_same_decision(&record, first) {
            return Ok(Some(ReplayDifference::of(first, Some(record))));
        }
    }
    for record in rest {
        let Record { inputs, write, .. } = record.clone();
        let outcome = journal.decide_record(inputs, record.epoch, write, record.at_ms);
        let new_record = outcome.map(|(_, new_record)| new_record);
        let is_next = record.number == journal.next_number();
        let is_same = new_record.as_ref().is_some_and(|new| is_same_decision(new, record));
        if is_next && !is_same {
            return Ok(Some(ReplayDifference::of(record, new_record)));
        }
        journal.apply_record(record)?;
    }
    Ok(None)
}

/// Returns true if the records are equal but for their hashes: code that adds a field encodes other bytes.
fn is_same_decision(new: &Record, stored: &Record) -> bool {
    let Record { previous, hash, .. } = stored;
    *stored == Record { previous: previous.clone(), hash: hash.clone(), ..new.clone() }
}

impl ReplayDifference {
    fn of(record: &Record, decided: Option<Record>) -> Self {
        Self { kept: Box::new(record.clone()), decided: decided.map(Box::new) }
    }
}
