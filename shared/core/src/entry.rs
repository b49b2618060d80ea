//! The public history of a run: what every viewer sees, in whatever protocol.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::{Spending, Usage};
use crate::error_code::{ErrorCode, Failure};
use crate::estimate::Estimate;
use crate::file::ProductFile;
use crate::human::{HumanRequest, ResponseRecord};
use crate::id::{
    CallId, ChildId, EntryId, HumanRequestId, MessageId, MessageKey, Path, RequestId, SessionId,
    StepId, UserId,
};
use crate::input::{ChildEnded, FinishReason, ModelChanged, RunSpec};
use crate::plan::{Plan, StepStatus};
use crate::settings::{Mode, OutputStyle};
use crate::status::RunStatus;
use crate::tool::{Risk, ToolResult};

/// One public event of a run. Its place in the history is its record's number and its position in
/// that record; its id names it across viewers and retries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Unique within the run: `t3`, `t3.c1`, `t3.c1.result`, `end`. Of an entry of a run below it begins
    /// with the path: `s2.1.t3`.
    pub id: EntryId,
    /// The way to the run it happened in; the ids in its event are that run's own.
    #[serde(default, skip_serializing_if = "Path::is_root")]
    pub path: Path,
    /// When it was recorded, Unix milliseconds. Informative: order is the journal's.
    pub at_ms: i64,
    /// The event, whose fields stand beside those of the entry on the wire.
    #[serde(flatten)]
    pub event: Event,
}

/// What can happen in a run, as a client sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    /// The question was accepted.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The session it belongs to.
        session: SessionId,
        /// The client's label for it.
        request: RequestId,
        /// The question as the user asked it.
        question: String,
        /// How it is worked on.
        mode: Mode,
        /// The form the answer should take.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_style: Option<OutputStyle>,
        /// Members of the request that have no effect, by their names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ignored: Vec<String>,
        /// What is wrong with texts of the deployment, in a sentence each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
    /// Its driver died and another took over; unfinished text starts over.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// The lease's new epoch.
        epoch: u64,
    },
    /// An attempt at a message failed after it had sent text; that text is void.
    #[serde(rename = "message.reset")]
    MessageReset {
        /// The message whose text is void.
        message: MessageId,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// The failure of that attempt, as people are told of it.
        failure: Failure,
    },
    /// A model cannot answer, and its fallback writes the message. What the first had sent of it is
    /// void by then (`message.reset`).
    #[serde(rename = "model.changed")]
    ModelChanged(ModelChanged),
    /// A model's provider failed in a way that passes: the call is made again at a moment, and costs nothing until then.
    #[serde(rename = "model.delayed")]
    ModelDelayed {
        /// The message that the call writes.
        message: MessageId,
        /// The moment of the next attempt, Unix milliseconds.
        until_ms: i64,
        /// The failure of the last attempt, as people are told of it.
        failure: Failure,
    },
    /// A reply of the model is complete.
    #[serde(rename = "message.completed")]
    MessageCompleted {
        /// The message; previews carried the same id.
        message: MessageId,
        /// All of its text.
        text: String,
        /// What the model thought, apart from the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        /// Whether it ended before the model was done.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        /// What ended it, if the model did not.
        #[serde(default, skip_serializing_if = "is_done")]
        finish: FinishReason,
        /// Whether it is the answer of its run or child, whose end repeats it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer: bool,
        /// The tokens and the money that it cost, with those of failed attempts that have no record of
        /// their own.
        usage: Usage,
    },
    /// The model asks for a tool.
    #[serde(rename = "call.requested")]
    CallRequested {
        /// The id of the call, by which `call.completed` refers to it.
        call: CallId,
        /// The name of the tool as the model wrote it.
        tool: String,
        /// Its arguments; a string where they could not be read.
        arguments: Value,
        /// Whether the tool's raw result is for the user's eyes.
        visible: bool,
    },
    /// A call was answered.
    #[serde(rename = "call.completed")]
    CallCompleted {
        /// The id of the call, as in its `call.requested`.
        call: CallId,
        /// What came of it.
        result: ToolResult,
    },
    /// A user added a file while the run was at work.
    #[serde(rename = "file.added")]
    FileAdded {
        /// The file as the session lists it from now on.
        file: ProductFile,
    },
    /// Older turns were summed up, for the model's sake: the history of the run keeps them.
    #[serde(rename = "context.compacted")]
    ContextCompacted {
        /// The message that sums them up.
        message: MessageId,
        /// How many earlier questions and answers of the session it replaces.
        exchanges: u32,
        /// How many turns and rounds of this run it replaces.
        turns: u32,
        /// The tokens and the money that summing up cost.
        usage: Usage,
    },
    /// The tools of a child have roles now: what an employee who does that would be called.
    #[serde(rename = "employees.named")]
    EmployeesNamed {
        /// The roles, by the names of their tools; not every tool need have one.
        roles: BTreeMap<String, String>,
        /// The tokens and the money that naming them cost.
        usage: Usage,
    },
    /// The planner made a plan, or changed it. Between two of these, `child.started` puts a step in
    /// progress, and `step.changed` says what became of it.
    #[serde(rename = "plan.changed")]
    PlanChanged {
        /// The plan as it is now.
        plan: Plan,
    },
    /// A step of the plan has ended: completed, blocked or skipped.
    #[serde(rename = "step.changed")]
    StepChanged {
        /// The id of the step, as the plan has it.
        step: StepId,
        /// What it is now.
        status: StepStatus,
        /// Why it is blocked.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// A step is being worked on, or an agent that was called.
    #[serde(rename = "child.started")]
    ChildStarted {
        /// The run one level down: its step and which attempt at it, or the call that it answers.
        #[serde(alias = "task")]
        child: ChildId,
        /// What it is to do, as one line: of a step `stage: details`.
        description: String,
        /// The agent that works on it; none for a step that names none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
    },
    /// What was being worked on came to its end.
    #[serde(rename = "child.ended")]
    ChildEnded {
        /// The run one level down, as at its start.
        #[serde(alias = "task")]
        child: ChildId,
        /// How: `finished`, `failed` or `stopped`.
        status: RunStatus,
        /// What came of it.
        text: String,
        /// The files it wrote, newest first, internal ones left out.
        files: Vec<ProductFile>,
        /// Why it did not finish.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// What it used up.
        spent: Spending,
        /// The number of entries in its journal; see [`ChildEnded::entry_count`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry_count: Option<u64>,
    },
    /// The user said something while the run was at work; its model reads it at the next turn.
    #[serde(rename = "user_message.added")]
    UserMessageAdded {
        /// The user who wrote the message.
        by: UserId,
        /// The text of the message.
        text: String,
    },
    /// People are asked; the run goes on with what needs no answer.
    #[serde(rename = "human.requested")]
    HumanRequested {
        /// What the requests have in common, for example the message that asked for all the calls. Who
        /// answers this id answers all of them.
        group: HumanRequestId,
        /// What the model said before it asked for the calls.
        reasoning: String,
        /// The highest risk among them.
        risk: Risk,
        /// What all of them may cost.
        estimate: Estimate,
        /// The requests of this group, each answered by itself or all at once.
        requests: Vec<HumanRequest>,
    },
    /// Something that was asked is answered.
    #[serde(rename = "human.resolved")]
    HumanResolved(Box<ResponseRecord>),
    /// The run ended. Always the last entry, and exactly one.
    #[serde(rename = "run.ended")]
    RunEnded(RunResult),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// `finished`, `failed` or `stopped`.
    pub status: RunStatus,
    /// The answer; with a failure, what there was of one.
    pub answer: String,
    /// The files it hands over, most important first.
    pub files: Vec<ProductFile>,
    /// Why it did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What cut the answer, if anything did.
    #[serde(default, skip_serializing_if = "is_done")]
    pub finish: FinishReason,
    /// What it used up.
    pub spent: Spending,
    /// Milliseconds from the question to the end.
    pub took_ms: u64,
    /// Of them, those in which it waited for people alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub paused_ms: u64,
}

impl RunResult {
    /// What it used up of its wall time: people's is not the run's.
    #[must_use]
    pub fn wall_ms(&self) -> u64 {
        self.took_ms.saturating_sub(self.paused_ms)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(ms: &u64) -> bool {
    *ms == 0
}

fn is_done(finish: &FinishReason) -> bool {
    *finish == FinishReason::Done
}

impl Entry {
    /// A message that its event speaks of.
    #[must_use]
    pub fn message_key(&self, message: &MessageId) -> MessageKey {
        MessageKey { path: self.path.clone(), message: message.clone() }
    }

    /// An entry of the journal that this way leads to, as it stands in the history of the run where the way
    /// begins.
    #[must_use]
    pub fn below(self, way: &Path) -> Self {
        Self { id: self.id.below(way), path: self.path.below(way), ..self }
    }
}

impl Event {
    /// What viewers see of the start of a run.
    #[must_use]
    pub fn run_started(spec: &RunSpec) -> Self {
        Self::RunStarted {
            session: spec.session.clone(),
            request: spec.request.clone(),
            question: spec.question.clone(),
            mode: spec.settings.mode,
            output_style: spec.output_style,
            ignored: spec.ignored.clone(),
            warnings: spec.warnings.clone(),
        }
    }

    /// What viewers see of the end of a run below another one.
    #[must_use]
    pub fn child_ended(ended: &ChildEnded) -> Self {
        Self::ChildEnded {
            child: ended.report.child.clone(),
            status: ended.status,
            text: ended.report.text.clone(),
            files: ended.files.iter().rev().filter(|file| !file.internal).cloned().collect(),
            failure: ended.report.failure.clone(),
            spent: ended.spent,
            entry_count: ended.entry_count,
        }
    }

    /// The same of one that nobody waits for any more, since the run above it has ended.
    #[must_use]
    pub fn child_stopped(child: ChildId) -> Self {
        Self::ChildEnded {
            child,
            status: RunStatus::Stopped,
            text: String::new(),
            files: Vec::new(),
            failure: Some(ErrorCode::Stopped.into()),
            spent: Spending::default(),
            entry_count: None,
        }
    }

    /// The end of a run below another one, as one that came about so and has nothing to say.
    #[must_use]
    pub fn with_child_status(mut self, ended_as: RunStatus) -> Self {
        if let Self::ChildEnded { status, failure, .. } = &mut self {
            (*status, *failure) = (ended_as, None);
        }
        self
    }

    /// The event's name on the wire.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run.started",
            Self::RunResumed { .. } => "run.resumed",
            Self::MessageReset { .. } => "message.reset",
            Self::ModelChanged(_) => "model.changed",
            Self::ModelDelayed { .. } => "model.delayed",
            Self::MessageCompleted { .. } => "message.completed",
            Self::CallRequested { .. } => "call.requested",
            Self::CallCompleted { .. } => "call.completed",
            Self::FileAdded { .. } => "file.added",
            Self::ContextCompacted { .. } => "context.compacted",
            Self::EmployeesNamed { .. } => "employees.named",
            Self::PlanChanged { .. } => "plan.changed",
            Self::StepChanged { .. } => "step.changed",
            Self::ChildStarted { .. } => "child.started",
            Self::ChildEnded { .. } => "child.ended",
            Self::UserMessageAdded { .. } => "user_message.added",
            Self::HumanRequested { .. } => "human.requested",
            Self::HumanResolved(_) => "human.resolved",
            Self::RunEnded(_) => "run.ended",
        }
    }

    /// What came of the run, if this is its end.
    #[must_use]
    pub fn run_result(&self) -> Option<&RunResult> {
        let Self::RunEnded(ending) = self else { return None };
        Some(ending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_is_one_flat_object_named_noun_verb() {
        let wire = json!({
            "id": "t1.c1", "at_ms": 5, "type": "call.requested",
            "call": "t1.c1", "tool": "file_tool", "arguments": {"command": "get"}, "visible": false,
        });
        let entry: Entry = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(serde_json::to_value(&entry).unwrap(), wire);
        assert_eq!(wire["type"], entry.event.name());
    }
}
