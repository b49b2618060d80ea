//! Journals that are decided anew by today's code, to see whether it would still write the same.

use serde::{Deserialize, Serialize};

use crate::id::Path;
use crate::journal::{FoldError, Journal, Record};

/// A record of a tree of runs, as replays are kept: a line of JSON each, runs above before those below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedRecord {
    /// The way to its run from the root.
    pub path: Path,
    /// What the journal holds.
    pub record: Record,
}

/// The first record of a journal that today's code would not write.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayDifference {
    /// What the journal holds.
    pub kept: Box<Record>,
    /// What today's code makes of the same inputs; nothing if it ignores them all.
    pub decided: Option<Box<Record>>,
}

/// Decides each record of a journal anew, from its first one on, until one comes out otherwise.
///
/// # Errors
/// [`FoldError`] when records are missing or newer than this code.
pub fn find_difference(records: &[Record]) -> Result<Option<ReplayDifference>, FoldError> {
    let (first, rest) = records.split_first().ok_or(FoldError::NoQuestion)?;
    let mut journal = Journal::fold(std::slice::from_ref(first))?;
    if let Some(spec) = first.question() {
        let (_, again) = Journal::open(spec.clone(), first.epoch, first.write.clone(), first.at_ms);
        if again != *first {
            return Ok(Some(ReplayDifference::of(first, Some(again))));
        }
    }
    for record in rest {
        let Record { inputs, write, .. } = record.clone();
        let decided = journal.decide_record(inputs, record.epoch, write, record.at_ms);
        let again = decided.map(|(_, again)| again);
        let is_next = record.number == journal.next_number();
        if is_next && again.as_ref() != Some(record) {
            return Ok(Some(ReplayDifference::of(record, again)));
        }
        journal.apply_record(record)?;
    }
    Ok(None)
}

impl ReplayDifference {
    fn of(kept: &Record, decided: Option<Record>) -> Self {
        Self { kept: Box::new(kept.clone()), decided: decided.map(Box::new) }
    }
}
