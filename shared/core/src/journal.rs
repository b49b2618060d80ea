//! How a run is kept: numbered records of inputs and the entries they made.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::entry::Entry;
use crate::id::WriteId;
use crate::input::{ChildEnded, Input, RunSpec};
use crate::run::Run;

/// The format of the records that this code writes. A driver that meets a newer one leaves the run
/// alone; every older one is folded as it always was.
pub const FORMAT: u16 = 1;

/// One journal record. Written once, on the condition that no record of its number exists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The format it is written in.
    pub format: u16,
    /// Its number, from 0, without gaps.
    pub number: u64,
    /// Names the write, so that a writer whose reply was lost recognises its own record.
    pub write: WriteId,
    /// The lease epoch of the driver that wrote it.
    pub epoch: u64,
    /// When it was written, Unix milliseconds.
    pub at_ms: i64,
    /// What the run was told.
    pub inputs: Vec<Input>,
    /// What viewers see of it.
    pub entries: Vec<Entry>,
}

/// Why a journal cannot be folded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// There is no record, or the first one holds no question.
    #[error("the journal does not begin with a question")]
    NoQuestion,
    /// A record is missing.
    #[error("record {0} is missing")]
    Gap(u64),
    /// Written by a newer version: leave the run to that one.
    #[error("record format {0} is newer than {FORMAT}")]
    NewerFormat(u16),
}

/// A run and its place in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Journal {
    /// Shared with whoever works for the run, until it changes.
    run: Arc<Run>,
    next_number: u64,
    epoch: u64,
    entry_count: u64,
}

impl Journal {
    /// The journal that a question opens, and its first record.
    #[must_use]
    pub fn open(asked: RunSpec, epoch: u64, write: WriteId, at_ms: i64) -> (Self, Record) {
        let (run, entries) = Run::start(asked.clone(), at_ms);
        let inputs = vec![Input::Started(Box::new(asked))];
        let record = Record { format: FORMAT, number: 0, write, epoch, at_ms, inputs, entries };
        let entries = record.entries.len() as u64;
        (Self { run: Arc::new(run), next_number: 1, epoch, entry_count: entries }, record)
    }

    /// Folds a journal from its first record on.
    ///
    /// # Errors
    /// [`FoldError`] when records are missing or newer than this code. A record's content never
    /// fails: an input that nothing waits for is ignored.
    pub fn fold(records: &[Record]) -> Result<Self, FoldError> {
        let (first, rest) = records.split_first().ok_or(FoldError::NoQuestion)?;
        first.check_format()?;
        let asked = first.question().ok_or(FoldError::NoQuestion)?;
        let (run, _) = Run::start(asked.clone(), first.at_ms);
        let (next, entries) = (first.number + 1, first.entries.len() as u64);
        let mut journal = Self {
            run: Arc::new(run),
            next_number: next,
            epoch: first.epoch,
            entry_count: entries,
        };
        for record in rest {
            journal.apply_record(record)?;
        }
        Ok(journal)
    }

    /// Takes the next record, written by whomever.
    ///
    /// # Errors
    /// See [`Journal::fold`]; the journal is unchanged then.
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
        Ok(())
    }

    /// Decides what these inputs make of the run: the journal as it will be, and the record to
    /// append. `None` when no input matters; then nothing is to be written.
    ///
    /// What was done goes before mail, so that it is kept; of the mail a stop goes first. A set of tools
    /// that an earlier record holds is not repeated.
    #[must_use]
    pub fn decide_record(
        &self,
        mut inputs: Vec<Input>,
        epoch: u64,
        write: WriteId,
        at_ms: i64,
    ) -> Option<(Self, Record)> {
        inputs.sort_by_key(input_order);
        let mut decided = self.clone();
        let mut entries = Vec::new();
        let run = Arc::make_mut(&mut decided.run);
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
        decided.next_number += 1;
        decided.epoch = decided.epoch.max(epoch);
        decided.entry_count += entries.len() as u64;
        let record = Record {
            format: FORMAT,
            number: self.next_number,
            write,
            epoch,
            at_ms,
            inputs,
            entries,
        };
        Some((decided, record))
    }

    /// The run as the records so far make it.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The run, to be kept as it is now.
    #[must_use]
    pub fn shared_run(&self) -> Arc<Run> {
        Arc::clone(&self.run)
    }

    /// The number of the record that comes next.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.next_number
    }

    /// Returns the result that an ended child owes the run above it, with the number of its entries.
    #[must_use]
    pub fn child_result(&self) -> Option<ChildEnded> {
        let result = self.run.child_result()?.clone();
        Some(ChildEnded { entry_count: Some(self.entry_count), ..result })
    }

    /// How many entries its records hold.
    #[must_use]
    pub fn entry_count(&self) -> u64 {
        self.entry_count
    }

    /// The highest lease epoch among its records.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// Leaves out the tools of a reply that `run` can restore by their hash.
fn omit_known_tools(input: &mut Input, run: &Run) {
    if let Input::ModelReplied(replied) = input
        && replied.tool_set.as_ref().is_some_and(|named| run.has_tool_set(&named.hash))
    {
        replied.offered.clear();
    }
}

fn input_order(input: &Input) -> u8 {
    match input {
        Input::StopRequested { .. } => 1,
        Input::FileAdded { .. } | Input::UserMessageAdded(_) | Input::PlanEdited(_) => 2,
        // An answer that came in time goes before the news that time ran out.
        Input::HumanResponded(_) => 3,
        Input::HumanRequestExpired { .. } => 4,
        Input::Started(_)
        | Input::Resumed { .. }
        | Input::AttemptFailed(_)
        | Input::ModelReplied(_)
        | Input::ModelChanged(_)
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
    /// The question, if it is a journal's first record.
    pub(crate) fn question(&self) -> Option<&RunSpec> {
        match self.inputs.as_slice() {
            [Input::Started(asked), ..] => Some(asked),
            _ => None,
        }
    }

    fn check_format(&self) -> Result<(), FoldError> {
        if self.format > FORMAT { Err(FoldError::NewerFormat(self.format)) } else { Ok(()) }
    }
}
