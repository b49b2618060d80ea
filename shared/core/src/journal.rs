//! The stored form of a run: numbered records of inputs and the resulting entries.

mod chain;
mod round_start;
mod text;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::entry::Entry;
use crate::id::WriteId;
use crate::input::{ChildEnded, Input, RunSpec};
use crate::run::Run;

pub use chain::{ChainError, ChainHead, ChainVerifier};
pub use text::{RecordHash, RecordText};

/// The format of new records. A driver leaves a run with newer records alone, and folds older formats as
/// before.
pub const FORMAT: u16 = 1;

/// One record of a journal. Written once, on the condition that no record of its number exists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The format of the record.
    pub format: u16,
    /// The number of the record, from 0, without gaps.
    pub number: u64,
    /// The id of the write. A writer that lost the response recognizes its own record by the id.
    pub write: WriteId,
    /// The lease epoch of the driver that wrote the record.
    pub epoch: u64,
    /// The time of the write, Unix milliseconds.
    pub at_ms: i64,
    /// The hash of the record before; 64 zeros for the first record.
    #[serde(default, skip_serializing_if = "RecordHash::is_default")]
    pub previous: RecordHash,
    /// The hash of this record as stored; `None` for a new record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<RecordHash>,
    /// The inputs of the run.
    pub inputs: Vec<Input>,
    /// The entries for viewers.
    pub entries: Vec<Entry>,
}

/// The reason why a journal cannot be folded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// No record exists, or the first record holds no question.
    #[error("the journal does not begin with a question")]
    NoQuestion,
    /// A record is missing.
    #[error("record {0} is missing")]
    Gap(u64),
    /// Written by a newer version, which must process the run.
    #[error("record format {0} is newer than {FORMAT}")]
    NewerFormat(u16),
}

/// A run and its position in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Journal {
    /// Shared with readers of the run until the run changes.
    run: Arc<Run>,
    next_number: u64,
    epoch: u64,
    entry_count: u64,
    /// The hash of the last stored record.
    head: RecordHash,
}

impl Journal {
    /// Opens the journal of a question and returns it with its first record.
    #[must_use]
    pub fn open(spec: RunSpec, epoch: u64, write: WriteId, at_ms: i64) -> (Self, Record) {
        let (run, entries) = Run::start(spec.clone(), at_ms);
        let inputs = vec![Input::Started(Box::new(spec))];
        let head = RecordHash::default();
        let record = Record {
            format: FORMAT,
            number: 0,
            write,
            epoch,
            at_ms,
            previous: head.clone(),
            hash: None,
            inputs,
            entries,
        };
        let entry_count = record.entries.len() as u64;
        (Self { run: Arc::new(run), next_number: 1, epoch, entry_count, head }, record)
    }

    /// Folds a journal from its first record.
    ///
    /// # Errors
    /// Returns [`FoldError`] if records are missing or have a newer format. The content of a record never
    /// causes an error: an input that the run does not wait for is ignored.
    pub fn fold(records: &[Record]) -> Result<Self, FoldError> {
        let (first, rest) = records.split_first().ok_or(FoldError::NoQuestion)?;
        first.check_format()?;
        let spec = first.question().ok_or(FoldError::NoQuestion)?;
        let (run, _) = Run::start(spec.clone(), first.at_ms);
        let next = first.number + 1;
        let entries = first.entries.len() as u64;
        let mut journal = Self {
            run: Arc::new(run),
            next_number: next,
            epoch: first.epoch,
            entry_count: entries,
            head: first.hash.clone().unwrap_or_default(),
        };
        for record in rest {
            journal.apply_record(record)?;
        }
        Ok(journal)
    }

    /// Applies the next record, from this or another writer.
    ///
    /// # Errors
    /// Returns the errors of [`Journal::fold`]; the journal is then unchanged.
    pub fn apply_record(&mut self, record: &Record) -> Result<(), FoldError> {
        record.check_format()?;
        if record.number != self.next_number {
            return Err(FoldError::Gap(self.next_number));
        }
        let run = Arc::make_mut(&mut self.run);
        for input in &record.inputs {
            run.apply_input(input, record.at_ms);
        }
        self.next_number += 1;
        self.epoch = self.epoch.max(record.epoch);
        self.entry_count += record.entries.len() as u64;
        self.head = record.hash.clone().unwrap_or_default();
        Ok(())
    }

    /// Returns the head of the chain of the records so far.
    #[must_use]
    pub fn chain_head(&self) -> ChainHead {
        ChainHead { records: self.next_number, hash: self.head.clone() }
    }

    /// Sets the hash of the last record, which a store has just written.
    pub fn set_head(&mut self, hash: RecordHash) {
        self.head = hash;
    }

    /// Processes inputs and returns the resulting journal with the record to append. Returns `None` if no
    /// input has an effect; then nothing is written.
    ///
    /// Results of work precede mail and are thus kept. Within mail, a stop is first. A set of tools in an
    /// earlier record is not repeated. Once the record is stored, [`Self::set_head`] takes its hash.
    #[must_use]
    pub fn decide_record(
        &self,
        mut inputs: Vec<Input>,
        epoch: u64,
        write: WriteId,
        at_ms: i64,
    ) -> Option<(Self, Record)> {
        inputs.sort_by_key(input_order);
        let mut journal = self.clone();
        let mut entries = Vec::new();
        let run = Arc::make_mut(&mut journal.run);
        inputs.retain_mut(|input| {
            omit_known_tools(input, run);
            match run.apply_input(input, at_ms) {
                Some(more) => {
                    entries.extend(more);
                    true
                }
                None => false,
            }
        });
        if inputs.is_empty() {
            return None;
        }
        journal.next_number += 1;
        journal.epoch = journal.epoch.max(epoch);
        journal.entry_count += entries.len() as u64;
        let record = Record {
            format: FORMAT,
            number: self.next_number,
            write,
            epoch,
            at_ms,
            previous: self.head.clone(),
            hash: None,
            inputs,
            entries,
        };
        Some((journal, record))
    }

    /// Returns the run that results from the records so far.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the run as a snapshot for other owners.
    #[must_use]
    pub fn shared_run(&self) -> Arc<Run> {
        Arc::clone(&self.run)
    }

    /// Returns the number of the next record.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Returns the result that an ended child owes the run above, with the number of its entries.
    #[must_use]
    pub fn child_result(&self) -> Option<ChildEnded> {
        let result = self.run.child_result()?.clone();
        Some(ChildEnded { entry_count: Some(self.entry_count), ..result })
    }

    /// Returns the number of entries in all records.
    #[must_use]
    pub fn entry_count(&self) -> u64 {
        self.entry_count
    }

    /// Returns the highest lease epoch among the records.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// Removes the tools of a reply that `run` can restore by their hash.
fn omit_known_tools(input: &mut Input, run: &Run) {
    if let Input::ModelReplied(replied) = input
        && replied.tool_set.as_ref().is_some_and(|tool_set| run.has_tool_set(&tool_set.hash))
    {
        replied.offered.clear();
    }
}

fn input_order(input: &Input) -> u8 {
    match input {
        Input::StopRequested { .. } => 1,
        Input::FileAdded { .. } | Input::UserMessageAdded(_) | Input::PlanEdited(_) => 2,
        // A response that came in time precedes the timeout.
        Input::HumanResponded(_) => 3,
        Input::HumanRequestExpired { .. } => 4,
        Input::Started(_)
        | Input::Resumed { .. }
        | Input::AttemptFailed(_)
        | Input::ModelReplied(_)
        | Input::ModelChanged(_)
        | Input::AgentChanged(_)
        | Input::ModelFailed { .. }
        | Input::ToolStarted { .. }
        | Input::ToolStalled { .. }
        | Input::PlanSaved { .. }
        | Input::AnswerSaved { .. }
        | Input::ToolReturned { .. }
        | Input::LimitReached { .. }
        | Input::ChildEnded(_)
        | Input::Interrupted { .. }
        | Input::ChildRequested(_)
        | Input::Delivered { .. } => 0,
    }
}

impl Record {
    /// Returns the question if this is the first record of a journal.
    pub(crate) fn question(&self) -> Option<&RunSpec> {
        match self.inputs.as_slice() {
            [Input::Started(spec), ..] => Some(spec),
            _ => None,
        }
    }

    fn check_format(&self) -> Result<(), FoldError> {
        if self.format > FORMAT { Err(FoldError::NewerFormat(self.format)) } else { Ok(()) }
    }
}
