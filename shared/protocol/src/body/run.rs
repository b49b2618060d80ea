//! The bodies of answers about runs.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::FinishReason;
use djinn_core::language::Language;
use djinn_core::settings::Mode;
use djinn_core::status::RunStatus;
use serde::Serialize;

use crate::event::{PublicFile, PublicPlan};

/// A question was accepted, and is worked on without a stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AcceptedBody {
    /// The run that answers it.
    pub run: String,
    /// The session it belongs to.
    pub session: String,
    /// Its request; null if it has none.
    pub request: Option<String>,
}

/// Everything that is known of a run. What is in its journal alone is absent once that has expired.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunBody<'a> {
    /// The id of the run.
    pub run: String,
    /// How far it is.
    pub status: RunState,
    /// Whether it has a plan.
    pub mode: Mode,
    /// The session it belongs to.
    pub session: String,
    /// The request that asked.
    pub request: String,
    /// When it began, Unix milliseconds.
    pub started_at_ms: i64,
    /// Unix milliseconds; null while it is at work.
    pub ended_at_ms: Option<i64>,
    /// What its journal tells.
    #[serde(flatten)]
    pub journal: Option<JournalBody<'a>>,
    /// What its last event tells.
    #[serde(flatten)]
    pub end: Option<EndBody<'a>>,
}

/// What a run's journal tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JournalBody<'a> {
    /// The question as it was asked.
    pub question: &'a str,
    /// The plan, if there is one. It can be sent to `PATCH /runs/{run}/plan`.
    pub plan: Option<PublicPlan<'a>>,
    /// The plan's version; 0 where there is none.
    pub plan_version: u32,
    /// The runs right below it that are at work.
    pub children: Vec<ChildBody<'a>>,
    /// What it may use up, and has.
    pub budget: BudgetBody,
    /// What its calls of models came to.
    pub usage: UsageBody,
}

/// What the end of a run tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndBody<'a> {
    /// The answer, or what there is of it.
    pub answer: &'a str,
    /// What cut the answer short; absent if nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishReason>,
    /// The files that are offered to the user.
    pub files: Vec<PublicFile<'a>>,
    /// Why it ended badly; null if it did not.
    pub failure: Option<FailureBody>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum RunState {
    /// The status of a run whose journal is there.
    Status(RunStatus),
    /// It has ended, and its journal has expired.
    Expired(ExpiredWord),
}

/// What the status of a run is called whose journal has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExpiredWord {
    /// There is no journal any more.
    Expired,
}

/// A run right below another one, at work.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChildBody<'a> {
    /// The step that it works on and which attempt at it this is, or the call that it answers.
    pub child: String,
    /// What it is to do.
    pub description: &'a str,
}

/// What a run and its children may use up, and have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetBody {
    /// Calls of tools; the tasks of a plan count theirs each for itself.
    pub tool_calls: AmountBody,
    /// Turns of its agents.
    pub steps: AmountBody,
    /// Tokens that models read and wrote.
    pub tokens: AmountBody,
    /// Millionths of a US dollar.
    pub micro_usd: AmountBody,
    /// Milliseconds, but for those it waited for people alone.
    pub wall_ms: AmountBody,
}

/// One part of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AmountBody {
    /// What it may use up; null if that is not limited.
    pub limit: Option<u64>,
    /// What it has used up.
    pub spent: u64,
}

/// What a run's calls of models came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageBody {
    /// How many calls of models.
    pub model_calls: u32,
    /// How many calls of tools.
    pub tool_calls: u32,
    /// Tokens that models read.
    pub input_tokens: u64,
    /// Tokens that they wrote.
    pub output_tokens: u64,
    /// Of those that were read, tokens from a provider's cache.
    pub cached_tokens: u64,
    /// Calls whose price nobody knows, since their process was lost.
    pub lost_calls: u32,
    /// Millionths of a US dollar.
    pub micro_usd: u64,
}

/// Why a run ended badly.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureBody {
    /// The code to branch on.
    pub code: ErrorCode,
    /// What happened and what to do, in the deployment's language.
    pub message: String,
    /// The fact in the sentence; may be empty.
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
    /// What to send as `cursor` for the next page; null on the last.
    pub next: Option<String>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummaryBody {
    /// The id of the run.
    pub run: String,
    /// The session it belongs to.
    pub session: String,
    /// The request that asked.
    pub request: String,
    /// The beginning of the question.
    pub title: String,
    /// How far it is.
    pub status: RunStatus,
    /// When it began, Unix milliseconds.
    pub started_at_ms: i64,
    /// Unix milliseconds; null while it is at work.
    pub ended_at_ms: Option<i64>,
}

/// A run was asked to stop.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopBody {
    /// The id of the run.
    pub run: String,
    /// Its status when the request came.
    pub status: RunStatus,
}

/// Something was said to a run at work.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageBody {
    /// The id of the run.
    pub run: String,
    /// What became of it.
    pub state: MessageState,
}

/// What became of a word to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// The run has it, and reads it at its next turn.
    Taken,
    /// The run waited for a person, and goes on.
    GoesOn,
    /// It is stored, and the run reads it soon.
    Waiting,
}

/// A plan and its version.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanVersionBody<'a> {
    /// The version, which the next change names.
    pub version: u32,
    /// The plan as it is.
    pub plan: PublicPlan<'a>,
}

/// A change of a plan is stored and not decided yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlanWaitingBody {
    /// What became of it.
    pub state: PlanEditState,
}

/// What became of a change of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanEditState {
    /// It is stored, and the run reads it soon.
    Waiting,
}
