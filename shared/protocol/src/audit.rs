//! The human requests and decisions of a run, as a chain of hashed lines.

use serde::Serialize;
use serde_json::{Value, json};

use djinn_core::entry::Event;
use djinn_core::id::{RunId, sha256_hex};
use djinn_core::input::Input;
use djinn_core::journal::Record;
use djinn_core::tool::canonical_json;

/// One line. Changing, dropping or inserting a line invalidates all later hashes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditLine {
    /// The line's number, from 1.
    pub line: u64,
    /// The run of the journal.
    pub run: RunId,
    /// The number of the journal record.
    pub record: u64,
    /// The time of the record, Unix milliseconds.
    pub at_ms: i64,
    /// The kind of line: `started`, `human.requested`, `human.resolved`, `stop.requested`, `run.ended`.
    pub what: &'static str,
    /// The content, for example the user and the text.
    pub detail: Value,
    /// The hash of the line before; 64 zeros before the first.
    pub previous: String,
    /// SHA-256 of the line without this field, as JSON with sorted keys and no spaces.
    pub hash: String,
}

/// The audit lines of a journal, built record by record. The lines depend only on the journal.
#[derive(Debug, Default)]
pub struct AuditLog {
    lines: Vec<AuditLine>,
}

impl AuditLog {
    /// Takes the next record.
    pub fn add_record(&mut self, run: &RunId, record: &Record) {
        let input_lines = record.inputs.iter().filter_map(line_of_input);
        let event_lines = record.entries.iter().filter_map(|entry| line_of_event(&entry.event));
        for (what, detail) in input_lines.chain(event_lines) {
            let last = self.lines.last();
            let previous = last.map_or_else(|| "0".repeat(64), |line| line.hash.clone());
            let number = self.lines.len() as u64 + 1;
            let at_ms = record.at_ms;
            let text = json!({
                "line": number, "run": run, "record": record.number, "at_ms": at_ms, "what": what,
                "detail": detail, "previous": previous,
            });
            let hash = sha256_hex(canonical_json(&text).as_bytes());
            let run = run.clone();
            let record = record.number;
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

    /// Returns the lines so far.
    #[must_use]
    pub fn into_lines(self) -> Vec<AuditLine> {
        self.lines
    }
}

fn line_of_input(input: &Input) -> Option<(&'static str, Value)> {
    match input {
        Input::Started(spec) => {
            let settings = &spec.settings.human;
            Some((
                "started",
                json!({
                    "by": spec.user, "question": spec.question, "human_requests": settings,
                }),
            ))
        }
        Input::StopRequested { by, .. } => Some(("stop.requested", json!({"by": by}))),
        Input::UserMessageAdded(message) => {
            Some(("user_message.added", json!({"by": message.by, "text": message.text})))
        }
        Input::PlanEdited(edit) => Some(("plan.edited", json!(edit))),
        // The outcomes of these inputs are in the entries.
        Input::HumanResponded(_)
        | Input::HumanRequestExpired { .. }
        | Input::Interrupted { .. }
        | Input::ChildRequested(_)
        | Input::Resumed { .. }
        | Input::AttemptFailed(_)
        | Input::ModelReplied(_)
        | Input::ModelChanged(_)
        | Input::ModelFailed { .. }
        | Input::ToolStarted { .. }
        | Input::ToolStalled { .. }
        | Input::ToolReturned { .. }
        | Input::FileAdded { .. }
        | Input::LimitReached { .. }
        | Input::ChildEnded(_)
        | Input::PlanSaved { .. }
        | Input::AnswerSaved { .. }
        | Input::Delivered { .. } => None,
    }
}

fn line_of_event(event: &Event) -> Option<(&'static str, Value)> {
    match event {
        Event::HumanRequested { .. } | Event::HumanResolved(_) => {
            Some((event.name(), json!(event)))
        }
        Event::RunEnded(ending) => Some((
            event.name(),
            json!({"status": ending.status, "failure": ending.failure, "answer": ending.answer}),
        )),
        Event::RunStarted { .. }
        | Event::RunResumed { .. }
        | Event::MessageReset { .. }
        | Event::ModelChanged(_)
        | Event::ModelDelayed { .. }
        | Event::MessageCompleted { .. }
        | Event::CallRequested { .. }
        | Event::CallCompleted { .. }
        | Event::FileAdded { .. }
        | Event::ContextCompacted { .. }
        | Event::EmployeesNamed { .. }
        | Event::PlanChanged { .. }
        | Event::StepChanged { .. }
        | Event::UserMessageAdded { .. }
        | Event::ChildStarted { .. }
        | Event::ChildEnded { .. } => None,
    }
}
