//! The bodies of answers about runs.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::FinishReason;
use djinn_core::language::Language;
use djinn_core::review::ReviewOutcome;
use djinn_core::status::RunStatus;
use serde::Serialize;

use crate::event::{PublicCitation, PublicFile, PublicPlan};

/// The question was accepted, and the run works without a stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AcceptedBody {
    /// The run for the question.
    pub run: String,
    /// The session of the run.
    pub session: String,
    /// The id of the request; null if there is none.
    pub request: Option<String>,
}

/// All data of a run. Fields from the journal are absent after the journal has expired.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunBody<'a> {
    /// The id of the run.
    pub run: String,
    /// The status of the run.
    pub status: RunState,
    /// The name of the run's mode.
    pub mode: String,
    /// The session of the run.
    pub session: String,
    /// The id of the question's request.
    pub request: String,
    /// The start time, Unix milliseconds.
    pub started_at_ms: i64,
    /// The end time, Unix milliseconds; null while the run is at work.
    pub ended_at_ms: Option<i64>,
    /// The data from the run's journal.
    #[serde(flatten)]
    pub journal: Option<JournalBody<'a>>,
    /// The data from the run's last event.
    #[serde(flatten)]
    pub end: Option<EndBody<'a>>,
}

/// The data from a run's journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JournalBody<'a> {
    /// The question, unchanged.
    pub question: &'a str,
    /// The plan, if any, in the form of `PATCH /runs/{run}/plan`.
    pub plan: Option<PublicPlan<'a>>,
    /// The plan's version; 0 without a plan.
    pub plan_version: u32,
    /// The direct children at work.
    pub children: Vec<ChildBody<'a>>,
    /// The budget with limits and spending.
    pub budget: BudgetBody,
    /// The usage of all model calls.
    pub usage: UsageBody,
}

/// The data from the end of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndBody<'a> {
    /// The answer, possibly partial.
    pub answer: &'a str,
    /// The sources in the list at the end of the answer; absent without such a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<PublicCitation<'a>>,
    /// The reason that the answer was cut; absent if the answer is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// The result of the review of the answer; absent if the run has no reviews or did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewOutcome>,
    /// The files offered to the user.
    pub files: Vec<PublicFile<'a>>,
    /// The reason for the failure; null if the run did not fail.
    pub failure: Option<FailureBody>,
}

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum RunState {
    /// The status, while the run's journal exists.
    Status(RunStatus),
    /// The run has ended, and the journal has expired.
    Expired(ExpiredWord),
}

/// The status of a run with an expired journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExpiredWord {
    /// The journal no longer exists.
    Expired,
}

/// A direct child at work.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChildBody<'a> {
    /// The child's step with the attempt, or the child's call.
    pub child: String,
    /// The work of the child.
    pub description: &'a str,
}

/// The budget of a run and all children.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetBody {
    /// Tool calls. The tasks of a plan have separate limits.
    pub tool_calls: AmountBody,
    /// Turns of all agents.
    pub steps: AmountBody,
    /// Tokens of input and output.
    pub tokens: AmountBody,
    /// Cost in millionths of a US dollar.
    pub micro_usd: AmountBody,
    /// Milliseconds, without the time of only waiting for users.
    pub wall_ms: AmountBody,
}

/// One part of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AmountBody {
    /// The limit; null if unlimited.
    pub limit: Option<u64>,
    /// The amount used so far.
    pub spent: u64,
}

/// The usage of a run's model calls.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageBody {
    /// The number of model calls.
    pub model_calls: u32,
    /// The number of tool calls.
    pub tool_calls: u32,
    /// Input tokens, including cached tokens.
    pub input_tokens: u64,
    /// Output tokens, including reasoning.
    pub output_tokens: u64,
    /// Input tokens from a provider's cache.
    pub cached_tokens: u64,
    /// The number of model calls of unknown cost, after the loss of a process.
    pub lost_calls: u32,
    /// Cost in millionths of a US dollar.
    pub micro_usd: u64,
}

/// The failure of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureBody {
    /// The code to branch on.
    pub code: ErrorCode,
    /// The error and the remedy, in the deployment's language.
    pub message: String,
    /// The detail of the message; may be empty.
    pub detail: String,
}

impl FailureBody {
    /// Returns the public form of a run's failure.
    #[must_use]
    pub fn new(failure: &Failure, language: Language) -> Self {
        let code = failure.code;
        let detail = failure.detail.clone();
        Self { code, message: failure.sentence(language), detail }
    }
}

/// One page of the caller's runs, newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunListBody {
    /// The runs of this page.
    pub runs: Vec<RunSummaryBody>,
    /// The `cursor` for the next page; null on the last page.
    pub next: Option<String>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummaryBody {
    /// The id of the run.
    pub run: String,
    /// The session of the run.
    pub session: String,
    /// The id of the question's request.
    pub request: String,
    /// The beginning of the question.
    pub title: String,
    /// The status of the run.
    pub status: RunStatus,
    /// True if requests wait for users, also while other parts of the run work; up to 5 s late.
    pub has_open_requests: bool,
    /// The start time, Unix milliseconds.
    pub started_at_ms: i64,
    /// The end time, Unix milliseconds; null while the run is at work.
    pub ended_at_ms: Option<i64>,
}

/// A stop of the run was requested.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopBody {
    /// The id of the run.
    pub run: String,
    /// The status at the time of the request.
    pub status: RunStatus,
}

/// A message was sent to a run at work.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageBody {
    /// The id of the run.
    pub run: String,
    /// The state of the message.
    pub state: MessageState,
}

/// The state of a message to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// The run has the message, and reads the message at the next turn.
    Taken,
    /// The run waited for a user, and now continues.
    GoesOn,
    /// The message is stored; the run reads the message soon.
    Waiting,
}

/// A plan with version.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanVersionBody<'a> {
    /// The version, for use in the next change.
    pub version: u32,
    /// The current plan.
    pub plan: PublicPlan<'a>,
}

/// A change of a plan is stored and not yet applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanWaitingBody {
    /// The state of the change.
    pub state: PlanEditState,
}

/// The state of a change of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanEditState {
    /// The change is stored; the run reads the change soon.
    Waiting,
}
