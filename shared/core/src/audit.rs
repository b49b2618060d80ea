//! What people were asked and decided in a run, as lines that vouch for those before them.

use serde::Serialize;
use serde_json::{Value, json};

use crate::entry::Event;
use crate::id::{RunId, sha256};
use crate::input::Input;
use crate::journal::Record;
use crate::tool::canonical;

/// One line. Whoever changes, drops or inserts one has to change all that follow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditLine {
    /// Its number, from 1.
    pub line: u64,
    /// The run.
    pub run: RunId,
    /// The record of the journal that holds it.
    pub record: u64,
    /// When that was written, Unix milliseconds.
    pub at_ms: i64,
    /// What happened: `asked`, `feedback.asked`, `feedback.answered`, `stop.asked`, `run.ended`.
    pub what: &'static str,
    /// Who did it, what it says, and the like.
    pub detail: Value,
    /// The hash of the line before; 64 zeros before the first.
    pub previous: String,
    /// SHA-256 of the line before this member was added, as JSON with sorted keys and no spaces.
    pub hash: String,
}

/// The lines of a journal, as its records are read. The same journal always gives the same lines.
#[derive(Debug, Default)]
pub struct Audit {
    lines: Vec<AuditLine>,
}

impl Audit {
    /// Takes the next record.
    pub fn record(&mut self, run: &RunId, record: &Record) {
        let told = record.inputs.iter().filter_map(of_input);
        let seen = record.entries.iter().filter_map(|entry| of_event(&entry.event));
        for (what, detail) in told.chain(seen) {
            let last = self.lines.last();
            let previous = last.map_or_else(|| "0".repeat(64), |line| line.hash.clone());
            let (number, at_ms) = (self.lines.len() as u64 + 1, record.at_ms);
            let text = json!({
                "line": number, "run": run, "record": record.n, "at_ms": at_ms, "what": what,
                "detail": detail, "previous": previous,
            });
            let hash = sha256(canonical(&text).as_bytes());
            let (run, record) = (run.clone(), record.n);
            self.lines.push(AuditLine {
                line: number,
                run,
                record,
                at_ms,
                what,
                detail,
                previous,
                hash,
            });
        }
    }

    /// The lines so far.
    #[must_use]
    pub fn into_lines(self) -> Vec<AuditLine> {
        self.lines
    }
}

fn of_input(input: &Input) -> Option<(&'static str, Value)> {
    match input {
        Input::Asked(asked) => {
            let feedback = &asked.settings.feedback;
            Some((
                "asked",
                json!({
                    "by": asked.user, "question": asked.question, "human_feedback": feedback,
                }),
            ))
        }
        Input::StopAsked { by, .. } => Some(("stop.asked", json!({"by": by}))),
        Input::UserSaid(said) => Some(("user.said", json!({"by": said.by, "text": said.text}))),
        Input::PlanEdited(edited) => Some(("plan.edited", json!(edited))),
        // What came of these stands in entries.
        Input::HumanAnswered(_)
        | Input::FeedbackExpired { .. }
        | Input::Interrupted { .. }
        | Input::TaskAsks(_)
        | Input::Resumed { .. }
        | Input::AttemptFailed { .. }
        | Input::ModelReplied(_)
        | Input::ModelChanged(_)
        | Input::ModelFailed { .. }
        | Input::ToolStarted { .. }
        | Input::ToolReturned { .. }
        | Input::FileAdded { .. }
        | Input::LimitReached { .. }
        | Input::TaskEnded(_)
        | Input::PlanKept { .. }
        | Input::Delivered { .. } => None,
    }
}

fn of_event(event: &Event) -> Option<(&'static str, Value)> {
    match event {
        Event::FeedbackAsked { .. } | Event::FeedbackAnswered(_) => {
            Some((event.name(), json!(event)))
        }
        Event::RunEnded(ending) => Some((
            event.name(),
            json!({"status": ending.status, "failure": ending.failure, "answer": ending.answer}),
        )),
        Event::RunStarted { .. }
        | Event::RunResumed { .. }
        | Event::ItemReset { .. }
        | Event::ModelChanged(_)
        | Event::MessageCompleted { .. }
        | Event::CallRequested { .. }
        | Event::CallCompleted { .. }
        | Event::FileAdded { .. }
        | Event::ContextCompacted { .. }
        | Event::EmployeesNamed { .. }
        | Event::PlanChanged { .. }
        | Event::StepChanged { .. }
        | Event::UserSaid { .. }
        | Event::TaskStarted { .. }
        | Event::TaskEnded { .. } => None,
    }
}
