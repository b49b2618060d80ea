//! The public events of Djinn's own protocol, as separate types.
//!
//! Each event is created explicitly from a stored entry, so new fields of an entry stay private by default.

mod citation;
mod entry;
mod file;
mod human;
mod plan;
mod plan_problem;
mod preview;
mod progress;
mod query;
mod result;
mod review;
mod search;
mod spending;
mod verdict;

use std::collections::BTreeMap;

use djinn_core::entry::ResetReason;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{CallId, HumanRequestId, MessageId};
use djinn_core::input::FinishReason;
use djinn_core::plan::StepStatus;
use djinn_core::review::ReviewOutcome;
use djinn_core::settings::{Machine, OutputStyle};
use djinn_core::status::RunStatus;
use djinn_core::tool::Risk;
use serde::Serialize;
use serde_json::Value;

pub use citation::PublicCitation;
pub use file::PublicFile;
pub use human::{
    PublicHumanRequest, PublicInterrupt, PublicNeededKey, PublicResponse, PublicResponseContent,
    PublicSubject, PublicTopUp,
};
pub use plan::{PublicPlan, PublicStep};
pub use plan_problem::PublicPlanProblem;
pub use preview::PublicPreview;
pub use progress::PublicCallProgress;
pub use query::{PublicColumn, PublicQueryRows};
pub use result::{PublicFullOutput, PublicResultView, PublicToolResult};
pub use review::PublicReview;
pub use search::{PublicFindings, PublicPage};
pub use spending::{PublicEstimate, PublicSpending, PublicUsage};
pub use verdict::PublicScore;

/// An event of a run's history. Events never change after they were sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicEntry<'a> {
    /// The event's id, unique in the run. Drop an event with an id that you already have.
    pub id: String,
    /// The path of the child run with the event, such as `s2.1.t3.c1`; absent for events of the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The time of the event, Unix milliseconds.
    pub at_ms: i64,
    /// The event, tagged by `type`.
    #[serde(flatten)]
    pub event: PublicEvent<'a>,
}

/// An event, tagged by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum PublicEvent<'a> {
    /// A question was accepted. The first event of every run.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The question's session.
        session: &'a str,
        /// The request's id, from the client or generated.
        request: &'a str,
        /// The question, unchanged.
        question: &'a str,
        /// The names of the files that came with the question, in its order.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<&'a str>,
        /// The name of the run's mode.
        mode: &'a str,
        /// The requested form of the answer; absent if none was requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_style: Option<OutputStyle>,
        /// Names of fields in the request that have no effect.
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        ignored: &'a [String],
        /// Problems in the deployment's agent files, one sentence each; at most 20.
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        warnings: &'a [String],
    },
    /// The process that worked on the run was lost, and another process continues. Pieces of unfinished
    /// messages are sent anew.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// The number of times that the run was taken up, from 2.
        epoch: u64,
    },
    /// The text of a message is void: a model's attempt failed and is repeated, or a reviewer did not accept
    /// the answer. Drop the pieces of the attempt, or the complete message as the answer.
    #[serde(rename = "message.reset")]
    MessageReset {
        /// The id of the message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message: &'a MessageId,
        /// The reason why the text is void.
        reason: ResetReason,
        /// The number of the failed attempt, from 1; absent after a review.
        #[serde(skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
        /// The failure of the attempt; absent after a review.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<PublicFailure<'a>>,
    },
    /// Another model writes a message, because the role's own model cannot.
    #[serde(rename = "model.changed")]
    ModelChanged {
        /// The id of the message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message: &'a MessageId,
        /// The name of the failed model in the settings.
        from: &'a str,
        /// The name of the model that writes the message.
        to: &'a str,
        /// The failure of the other model.
        failure: PublicFailure<'a>,
    },
    /// A model's provider failed temporarily. The call is repeated later, at no cost until then.
    #[serde(rename = "model.delayed")]
    ModelDelayed {
        /// The id of the call's message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message: &'a MessageId,
        /// The time of the next attempt, Unix milliseconds.
        until_ms: i64,
        /// The failure of the last attempt.
        failure: PublicFailure<'a>,
    },
    /// A complete message of a model. Replaces all earlier pieces of the message.
    #[serde(rename = "message.completed")]
    MessageCompleted {
        /// The id of the message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message: &'a MessageId,
        /// The text of the message; empty if the model only called tools.
        text: &'a str,
        /// The model's reasoning; absent if the model returns none.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<&'a str>,
        /// True if a stop or the model's output limit cut the message.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        /// The reason that the message ended; absent if the model was done.
        #[serde(skip_serializing_if = "is_done")]
        finish: FinishReason,
        /// True if the message is the run's answer, repeated in `run.ended`.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        answer: bool,
        /// True if a reviewer judges the message before it becomes the answer. `review.completed` or the end
        /// of the run follows.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        draft: bool,
        /// The usage of the model call.
        usage: PublicUsage,
    },
    /// A model requested a tool call.
    #[serde(rename = "call.requested")]
    CallRequested {
        /// The id of the call.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        call: &'a CallId,
        /// The name of the tool.
        tool: &'a str,
        /// The arguments, or the text of unreadable arguments.
        arguments: &'a Value,
        /// True if a client should show the raw call and result. Other calls appear as files or as a plan.
        visible: bool,
    },
    /// Another agent takes the run over. The following events of the path are about its work.
    #[serde(rename = "agent.changed")]
    AgentChanged {
        /// The id of the call that handed the run over.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        call: &'a CallId,
        /// The name of the agent.
        agent: &'a str,
        /// The name for users; absent if the agent has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        /// The way in which the agent works.
        machine: Machine,
    },
    /// A tool call has ended.
    #[serde(rename = "call.completed")]
    CallCompleted {
        /// The id of the call.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        call: &'a CallId,
        /// The result of the call.
        result: PublicToolResult<'a>,
    },
    /// The user added a file while the run was at work.
    #[serde(rename = "file.added")]
    FileAdded {
        /// The file and its links.
        file: PublicFile<'a>,
    },
    /// The conversation was too long for the model, and a summary replaced the oldest part. Nothing changes
    /// for viewers.
    #[serde(rename = "context.compacted")]
    ContextCompacted {
        /// The message with the summary.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message: &'a MessageId,
        /// The number of summarized earlier questions of the session.
        exchanges: u32,
        /// The number of summarized turns of this run.
        turns: u32,
        /// The usage of the model call.
        usage: PublicUsage,
    },
    /// The agents of a child received names, if the deployment's settings enable names.
    #[serde(rename = "employees.named")]
    EmployeesNamed {
        /// Roles by the names of the tools.
        roles: &'a BTreeMap<String, String>,
        /// The usage of the model call.
        usage: PublicUsage,
    },
    /// The plan was created or changed. The event has the complete plan.
    #[serde(rename = "plan.changed")]
    PlanChanged {
        /// The current plan.
        plan: PublicPlan<'a>,
    },
    /// The status of a step changed.
    #[serde(rename = "step.changed")]
    StepChanged {
        /// The id of the step.
        step: String,
        /// The new status of the step.
        status: StepStatus,
        /// The note about the step; absent if empty.
        #[serde(skip_serializing_if = "str::is_empty")]
        note: &'a str,
    },
    /// An agent starts work on a step or a call. The agent's events have `child` as their `path`.
    #[serde(rename = "child.started")]
    ChildStarted {
        /// The path of the child run.
        child: String,
        /// The work of the child.
        description: &'a str,
        /// The name of the agent; absent for a step without an agent name.
        #[serde(skip_serializing_if = "str::is_empty")]
        agent: &'a str,
    },
    /// An agent's work on a step or a call has ended.
    #[serde(rename = "child.ended")]
    ChildEnded {
        /// The path of the child run.
        child: String,
        /// The final status.
        status: RunStatus,
        /// The result text, at most 4 096 bytes.
        text: &'a str,
        /// The files that the child wrote.
        files: Vec<PublicFile<'a>>,
        /// The reason for the failure; absent after success.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<PublicFailure<'a>>,
        /// The spending of the child.
        spent: PublicSpending,
    },
    /// A reviewer judged the answer, or failed.
    #[serde(rename = "review.completed")]
    ReviewCompleted(PublicReview<'a>),
    /// A user sent a message to the run at work.
    #[serde(rename = "user_message.added")]
    UserMessageAdded {
        /// The user who sent the message; absent for clients without access to names.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<&'a str>,
        /// The text of the message.
        text: &'a str,
    },
    /// A human request was made, and dependent work waits.
    #[serde(rename = "human.requested")]
    HumanRequested {
        /// The id for a response to all requests of the group.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        group: &'a HumanRequestId,
        /// The model's own reason for the request.
        reasoning: &'a str,
        /// The highest risk in the group.
        risk: Risk,
        /// The estimated cost of the whole group.
        estimate: PublicEstimate,
        /// The requests, each with its own id for a response.
        requests: Vec<PublicHumanRequest<'a>>,
    },
    /// A human request received a response or timed out.
    #[serde(rename = "human.resolved")]
    HumanResolved(PublicResponse<'a>),
    /// An agent gave its verdict on the answers of an ensemble. At most one in a run, before its end.
    #[serde(rename = "verdict.given")]
    VerdictGiven {
        /// The path of the child whose answer is the answer; absent if the agent merges the answers.
        #[serde(skip_serializing_if = "Option::is_none")]
        chosen: Option<String>,
        /// The score of each answer, in the order of the letters.
        scores: Vec<PublicScore<'a>>,
    },
    /// The run has ended. The last event of every run.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// The final status.
        status: RunStatus,
        /// The answer, possibly partial.
        answer: &'a str,
        /// The sources in the list at the end of the answer; absent without such a list.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        citations: Vec<PublicCitation<'a>>,
        /// The files offered to the user.
        files: Vec<PublicFile<'a>>,
        /// The reason for the failure; absent if the run did not fail.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<PublicFailure<'a>>,
        /// The reason that the answer was cut; absent if the answer is complete.
        #[serde(skip_serializing_if = "is_done")]
        finish: FinishReason,
        /// The result of the review of the answer; absent if the run has no reviews or did not finish.
        #[serde(skip_serializing_if = "Option::is_none")]
        review: Option<ReviewOutcome>,
        /// The spending of the run and all children.
        spent: PublicSpending,
        /// Milliseconds from the question to the end.
        took_ms: u64,
        /// The part of `took_ms` that the run only waited for users.
        #[serde(skip_serializing_if = "is_zero")]
        paused_ms: u64,
    },
}

/// A failure: a code and a detail.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicFailure<'a> {
    /// The code to branch on. `docs/errors.md` lists all codes.
    pub code: ErrorCode,
    /// The detail of the code's message: a number, a name, or the provider's text. May be empty.
    pub detail: &'a str,
}

impl<'a> PublicFailure<'a> {
    /// Returns the public form of a failure.
    #[must_use]
    pub fn new(failure: &'a Failure) -> Self {
        Self { code: failure.code, detail: &failure.detail }
    }
}

fn is_done(finish: &FinishReason) -> bool {
    *finish == FinishReason::Done
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(ms: &u64) -> bool {
    *ms == 0
}
