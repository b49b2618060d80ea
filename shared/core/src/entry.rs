//! The public history of a run, as every viewer sees it in any protocol.

mod review_result;
mod run_result;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::budget::{Spending, Usage};
use crate::error_code::{ErrorCode, Failure};
use crate::estimate::Estimate;
use crate::file::ProductFile;
use crate::human::{HumanRequest, ResponseRecord};
use crate::id::{
    CallId, ChildId, EntryId, FileName, HumanRequestId, MessageId, MessageKey, Path, RequestId,
    SessionId, StepId, UserId,
};
use crate::input::{ChildEnded, FinishReason, ModelChanged, RunSpec};
use crate::plan::{Plan, StepStatus};
use crate::settings::{Machine, OutputStyle};
use crate::status::RunStatus;
use crate::tool::{Risk, ToolResult};
use crate::verdict::EnsembleVerdict;
pub use review_result::{ResetReason, ReviewResult};
pub use run_result::RunResult;

/// One public event of a run. The record's number and the position in the record order the history. The id is
/// the same for every viewer and on every retry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// An id that is unique within the run: `t3`, `t3.c1`, `t3.c1.result`, `end`. The id of an entry from a
    /// run below begins with the path: `s2.1.t3`.
    pub id: EntryId,
    /// The path to the entry's run. Ids in the event are ids of this run.
    #[serde(default, skip_serializing_if = "Path::is_root")]
    pub path: Path,
    /// The time of the record, Unix milliseconds. Informative: the journal defines the order.
    pub at_ms: i64,
    /// The event. On the wire, the fields of the event and of the entry are in one object.
    #[serde(flatten)]
    pub event: Event,
}

/// An event in a run, as a client sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    /// The question was accepted.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The session of the run.
        session: SessionId,
        /// The client's label for the request.
        request: RequestId,
        /// The question as the user wrote it.
        question: String,
        /// The names of the files that came with the question.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<FileName>,
        /// The name of the run's mode.
        mode: String,
        /// The machine of the mode, unless the name is the machine's word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        machine: Option<Machine>,
        /// The mode's number in JoyAgent's protocol, if the agent's file has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_type: Option<u16>,
        /// The requested form of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_style: Option<OutputStyle>,
        /// The names of request fields without effect.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ignored: Vec<String>,
        /// Problems of the deployment's texts, in a sentence each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
    /// The driver died and another took over; unfinished text starts again.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// The lease's new epoch.
        epoch: u64,
    },
    /// The text of a message is void: the attempt failed, or a reviewer did not accept the answer.
    #[serde(rename = "message.reset")]
    MessageReset {
        /// The id of the message with the void text.
        message: MessageId,
        /// The reason why the text is void (default: a failed attempt).
        #[serde(default, skip_serializing_if = "ResetReason::is_failure")]
        reason: ResetReason,
        /// The number of the failed attempt, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
        /// The failure of the attempt, as users see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
    /// A model cannot answer, and its fallback writes the message. Text that the first model sent is void by
    /// then (`message.reset`).
    #[serde(rename = "model.changed")]
    ModelChanged(ModelChanged),
    /// Another agent took the run over. Its text is the text of the run.
    #[serde(rename = "agent.changed")]
    AgentChanged {
        /// The call that handed the run over.
        call: CallId,
        /// The name of the agent.
        agent: String,
        /// The name for users, if the agent's file has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The machine that works as the agent.
        machine: Machine,
        /// The agent's number in JoyAgent's protocol, if its file has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent_type: Option<u16>,
    },
    /// A model's provider failed temporarily. The call is repeated at a set time and costs nothing until
    /// then.
    #[serde(rename = "model.delayed")]
    ModelDelayed {
        /// The message that the call writes.
        message: MessageId,
        /// The time of the next attempt, Unix milliseconds.
        until_ms: i64,
        /// The failure of the last attempt, as users see it.
        failure: Failure,
    },
    /// A reply of the model is complete.
    #[serde(rename = "message.completed")]
    MessageCompleted {
        /// The message; previews carried the same id.
        message: MessageId,
        /// The whole text of the message.
        text: String,
        /// The model's reasoning, apart from the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        /// True if the message ended before the model was done.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        /// The reason of the end, unless the model ended the message itself.
        #[serde(default, skip_serializing_if = "is_done")]
        finish: FinishReason,
        /// True if the message is the answer of its run or child; the end of the run or child repeats the
        /// text.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer: bool,
        /// True if a reviewer judges the message before it becomes the answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        draft: bool,
        /// The tokens and money of the message, including failed attempts without a record.
        usage: Usage,
    },
    /// The model requested a tool call.
    #[serde(rename = "call.requested")]
    CallRequested {
        /// The id of the call; `call.completed` refers to it.
        call: CallId,
        /// The name of the tool as the model wrote it.
        tool: String,
        /// The arguments; a string if they could not be parsed.
        arguments: Value,
        /// True if clients may show the tool's raw result to the user.
        visible: bool,
    },
    /// A call has a result.
    #[serde(rename = "call.completed")]
    CallCompleted {
        /// The id of the call, as in its `call.requested`.
        call: CallId,
        /// The result of the call, or its failure.
        result: ToolResult,
    },
    /// A user added a file while the run was at work.
    #[serde(rename = "file.added")]
    FileAdded {
        /// The file as the session lists it from now on.
        file: ProductFile,
    },
    /// Older turns were summed up for the model. The history of the run keeps them.
    #[serde(rename = "context.compacted")]
    ContextCompacted {
        /// The id of the message with the summary.
        message: MessageId,
        /// The number of earlier questions and answers of the session that the summary replaces.
        exchanges: u32,
        /// The number of turns and rounds of this run that the summary replaces.
        turns: u32,
        /// The tokens and money that the summary cost.
        usage: Usage,
    },
    /// The tools of a child now have roles: the titles of employees who would do the work.
    #[serde(rename = "employees.named")]
    EmployeesNamed {
        /// The roles by tool name; a tool may have none.
        roles: BTreeMap<String, String>,
        /// The tokens and money that the names cost.
        usage: Usage,
    },
    /// The planner made or changed a plan. Between two of these events, `child.started` puts a step in
    /// progress, and `step.changed` reports the step's new status.
    #[serde(rename = "plan.changed")]
    PlanChanged {
        /// The plan after the change.
        plan: Plan,
    },
    /// A step of the plan has ended: completed, blocked or skipped.
    #[serde(rename = "step.changed")]
    StepChanged {
        /// The id of the step in the plan.
        step: StepId,
        /// The new status of the step.
        status: StepStatus,
        /// The reason for a blocked step.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// Work began on a step or on an agent call.
    #[serde(rename = "child.started")]
    ChildStarted {
        /// The id of the child: its step and attempt, or the call that it answers.
        #[serde(alias = "task")]
        child: ChildId,
        /// The work of the child in one line; for a step `stage: details`.
        description: String,
        /// The name of the agent; empty for a step without one.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
    },
    /// A child of the run ended.
    #[serde(rename = "child.ended")]
    ChildEnded {
        /// The id of the child, as in its `child.started`.
        #[serde(alias = "task")]
        child: ChildId,
        /// The final status: `finished`, `failed` or `stopped`.
        status: RunStatus,
        /// The text of the result.
        text: String,
        /// The files that the child wrote, newest first, without internal files.
        files: Vec<ProductFile>,
        /// The failure of a child that did not finish.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// The spending of the child.
        spent: Spending,
        /// The number of entries in the child's journal; see [`ChildEnded::entry_count`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        entry_count: Option<u64>,
    },
    /// A reviewer judged the answer.
    #[serde(rename = "review.completed")]
    ReviewCompleted(ReviewResult),
    /// The user wrote a message while the run was at work. The model reads it at the next turn.
    #[serde(rename = "user_message.added")]
    UserMessageAdded {
        /// The user who wrote the message.
        by: UserId,
        /// The text of the message.
        text: String,
    },
    /// The run sent human requests. Work that needs no response continues.
    #[serde(rename = "human.requested")]
    HumanRequested {
        /// The group of the requests, for example the message with all the calls. A response to the group
        /// responds to every request in it.
        group: HumanRequestId,
        /// The model's text before the calls.
        reasoning: String,
        /// The highest risk among the requests.
        risk: Risk,
        /// The estimated cost of all requests together.
        estimate: Estimate,
        /// The requests of this group. Users respond to each request or to the whole group.
        requests: Vec<HumanRequest>,
    },
    /// A human request was resolved.
    #[serde(rename = "human.resolved")]
    HumanResolved(Box<ResponseRecord>),
    /// An agent gave its verdict on the answers of its ensemble. A run has at most one.
    #[serde(rename = "verdict.given")]
    VerdictGiven(EnsembleVerdict),
    /// The run ended. Always the last entry, and exactly one.
    #[serde(rename = "run.ended")]
    RunEnded(RunResult),
}

fn is_done(finish: &FinishReason) -> bool {
    *finish == FinishReason::Done
}

impl Entry {
    /// Returns the key of a message that the event names.
    #[must_use]
    pub fn message_key(&self, message: &MessageId) -> MessageKey {
        MessageKey { path: self.path.clone(), message: message.clone() }
    }

    /// Returns the entry as the run at the start of `way` shows it. The entry belongs to the run at the end.
    #[must_use]
    pub fn below(self, way: &Path) -> Self {
        Self { id: self.id.below(way), path: self.path.below(way), ..self }
    }
}

impl Event {
    /// Returns the event for the start of a run.
    #[must_use]
    pub fn run_started(spec: &RunSpec) -> Self {
        Self::RunStarted {
            session: spec.session.clone(),
            request: spec.request.clone(),
            question: spec.question.clone(),
            attachments: spec.attachments.iter().map(|file| file.name.clone()).collect(),
            mode: spec.settings.mode.clone(),
            machine: Some(spec.machine()).filter(|own| own.as_str() != spec.settings.mode),
            agent_type: spec.agent().and_then(|agent| agent.agent_type),
            output_style: spec.output_style,
            ignored: spec.ignored.clone(),
            warnings: spec.warnings.clone(),
        }
    }

    /// Returns the event for the end of a run below another run.
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

    /// Returns the `child.ended` event of a child that was still at work when its parent run ended.
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

    /// Returns a child's end with another status and without a failure.
    #[must_use]
    pub fn with_child_status(mut self, ended_as: RunStatus) -> Self {
        if let Self::ChildEnded { status, failure, .. } = &mut self {
            (*status, *failure) = (ended_as, None);
        }
        self
    }

    /// Returns the event's name on the wire.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run.started",
            Self::RunResumed { .. } => "run.resumed",
            Self::MessageReset { .. } => "message.reset",
            Self::ModelChanged(_) => "model.changed",
            Self::AgentChanged { .. } => "agent.changed",
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
            Self::ReviewCompleted(_) => "review.completed",
            Self::UserMessageAdded { .. } => "user_message.added",
            Self::HumanRequested { .. } => "human.requested",
            Self::HumanResolved(_) => "human.resolved",
            Self::VerdictGiven(_) => "verdict.given",
            Self::RunEnded(_) => "run.ended",
        }
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
