//! The public events of Djinn's own protocol, as separate types.
//!
//! Each event is created explicitly from a stored entry, so new fields of an entry stay private by default.

mod entry;
mod file;
mod human;
mod plan;
mod plan_problem;
mod preview;
mod progress;
mod result;
mod search;
mod spending;

use std::collections::BTreeMap;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{CallId, HumanRequestId, MessageId};
use djinn_core::input::FinishReason;
use djinn_core::plan::StepStatus;
use djinn_core::settings::{Mode, OutputStyle};
use djinn_core::status::RunStatus;
use djinn_core::tool::Risk;
use serde::Serialize;
use serde_json::Value;

pub use file::PublicFile;
pub use human::{
    PublicAnswer, PublicHumanRequest, PublicInterrupt, PublicResponse, PublicSubject, PublicTopUp,
};
pub use plan::{PublicPlan, PublicStep};
pub use plan_problem::PublicPlanProblem;
pub use preview::PublicPreview;
pub use progress::PublicCallProgress;
pub use result::{PublicFullOutput, PublicResultView, PublicToolResult};
pub use search::{PublicFindings, PublicPage};
pub use spending::{PublicEstimate, PublicSpending, PublicUsage};

/// One event of a run's history, which never changes once it was sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicEntry<'a> {
    /// Its name in the run, and unique there: a client that has an event of this id drops another.
    pub id: String,
    /// The way to the run below in which it happened, as `s2.1.t3.c1`; absent for what the run itself did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// When it happened, Unix milliseconds.
    pub at_ms: i64,
    /// What happened, by its `type`.
    #[serde(flatten)]
    pub event: PublicEvent<'a>,
}

/// What happened, by its name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum PublicEvent<'a> {
    /// A question was accepted. The first event of every run.
    #[serde(rename = "run.started")]
    RunStarted {
        /// The session in which it was asked.
        session: &'a str,
        /// The request's id, as the client gave or was given it.
        request: &'a str,
        /// The question as it was asked.
        question: &'a str,
        /// Whether there will be a plan.
        mode: Mode,
        /// The form in which the answer is wanted, if one was named.
        #[serde(skip_serializing_if = "Option::is_none")]
        output_style: Option<OutputStyle>,
        /// Members of the request that have no effect here, by their names.
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        ignored: &'a [String],
        /// What is wrong with the deployment's files of agents, in a sentence each; at most 20.
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        warnings: &'a [String],
    },
    /// The process that worked on the run was lost, and another goes on. Pieces of unfinished messages
    /// are written anew.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// How often the run was taken up, from 2.
        epoch: u64,
    },
    /// A model's attempt at a message failed and is made again: drop the pieces of this attempt.
    #[serde(rename = "message.reset")]
    MessageReset {
        /// The id of the message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message: &'a MessageId,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// Why the attempt failed.
        failure: PublicFailure<'a>,
    },
    /// Another model writes a message, since the role's own cannot.
    #[serde(rename = "model.changed")]
    ModelChanged {
        /// The id of the message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message: &'a MessageId,
        /// The model that cannot write it, by its name in the settings.
        from: &'a str,
        /// The model that writes it.
        to: &'a str,
        /// Why the other cannot write it.
        failure: PublicFailure<'a>,
    },
    /// A model's provider failed in a way that passes: the call is made again later, and costs nothing until then.
    #[serde(rename = "model.delayed")]
    ModelDelayed {
        /// The id of the message that the call writes.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message: &'a MessageId,
        /// The time of the next attempt, Unix milliseconds.
        until_ms: i64,
        /// The failure of the last attempt.
        failure: PublicFailure<'a>,
    },
    /// A message of a model's, whole. It replaces the pieces that were shown of it.
    #[serde(rename = "message.completed")]
    MessageCompleted {
        /// The id of the message.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message: &'a MessageId,
        /// What it says; empty if the model only called tools.
        text: &'a str,
        /// What the model thought before, if it shows that.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<&'a str>,
        /// Whether it was cut by a stop, or by the model's output limit.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        /// Why it ended, if it was not done.
        #[serde(skip_serializing_if = "is_done")]
        finish: FinishReason,
        /// Whether it is the run's answer; `run.ended` repeats it.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        answer: bool,
        /// What the call of the model came to.
        usage: PublicUsage,
    },
    /// A model asks for a tool.
    #[serde(rename = "call.requested")]
    CallRequested {
        /// The id of the call.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        call: &'a CallId,
        /// The name of the tool.
        tool: &'a str,
        /// Its arguments, or the text that could not be read as such.
        arguments: &'a Value,
        /// Whether a client should show the call and its result as they are. The others show themselves
        /// in other ways, as files or as a plan.
        visible: bool,
    },
    /// A call is over.
    #[serde(rename = "call.completed")]
    CallCompleted {
        /// The id of the call.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        call: &'a CallId,
        /// What came of it.
        result: PublicToolResult<'a>,
    },
    /// The user added a file while the run was at work.
    #[serde(rename = "file.added")]
    FileAdded {
        /// The file and its links.
        file: PublicFile<'a>,
    },
    /// The conversation grew too long for the model, and its oldest part was summed up for it. Nothing
    /// changes for viewers.
    #[serde(rename = "context.compacted")]
    ContextCompacted {
        /// The message that the summary was written as.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        message: &'a MessageId,
        /// Earlier questions of the session that were summed up.
        exchanges: u32,
        /// Turns of this run that were summed up.
        turns: u32,
        /// What it came to.
        usage: PublicUsage,
    },
    /// The agents that work on a child were given names, where a deployment wants that.
    #[serde(rename = "employees.named")]
    EmployeesNamed {
        /// The name of each role.
        roles: &'a BTreeMap<String, String>,
        /// What it came to.
        usage: PublicUsage,
    },
    /// There is a plan, or it is another. The event carries all of it.
    #[serde(rename = "plan.changed")]
    PlanChanged {
        /// The plan as it is from here on.
        plan: PublicPlan<'a>,
    },
    /// A step of the plan has another status.
    #[serde(rename = "step.changed")]
    StepChanged {
        /// The id of the step.
        step: String,
        /// Its status from here on.
        status: StepStatus,
        /// What is noted about it; absent if nothing is.
        #[serde(skip_serializing_if = "str::is_empty")]
        note: &'a str,
    },
    /// An agent begins to work on a step, or to answer a call. What it does carries `child` as its `path`.
    #[serde(rename = "child.started")]
    ChildStarted {
        /// The way to the run that it is.
        child: String,
        /// What it is to do.
        description: &'a str,
        /// The name of the agent; absent for a step that names none.
        #[serde(skip_serializing_if = "str::is_empty")]
        agent: &'a str,
    },
    /// What an agent was to do is over.
    #[serde(rename = "child.ended")]
    ChildEnded {
        /// The way to the run that it was.
        child: String,
        /// The status it ended with.
        status: RunStatus,
        /// What it found, at most 4 096 bytes.
        text: &'a str,
        /// The files it wrote.
        files: Vec<PublicFile<'a>>,
        /// Why it failed, if it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<PublicFailure<'a>>,
        /// What it used up.
        spent: PublicSpending,
    },
    /// Somebody said something to the run while it was at work.
    #[serde(rename = "user_message.added")]
    UserMessageAdded {
        /// Who said it; absent for clients that are not told names.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<&'a str>,
        /// The words that were said.
        text: &'a str,
    },
    /// People are asked, and what depends on it waits.
    #[serde(rename = "human.requested")]
    HumanRequested {
        /// The name by which all of the group are answered at once.
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        group: &'a HumanRequestId,
        /// Why the model wants it, in its own words.
        reasoning: &'a str,
        /// The highest risk in the group.
        risk: Risk,
        /// What all of it together may cost.
        estimate: PublicEstimate,
        /// What is asked, each answered by its own id.
        requests: Vec<PublicHumanRequest<'a>>,
    },
    /// Something that was asked was answered, or ran out of time.
    #[serde(rename = "human.resolved")]
    HumanResolved(PublicResponse<'a>),
    /// The run is over. The last event of every run.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// The status it ended with.
        status: RunStatus,
        /// The answer, or what there is of it.
        answer: &'a str,
        /// The files that are offered to the user.
        files: Vec<PublicFile<'a>>,
        /// Why it ended badly, if it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        failure: Option<PublicFailure<'a>>,
        /// What cut the answer short, if something did.
        #[serde(skip_serializing_if = "is_done")]
        finish: FinishReason,
        /// What the run and its children used up.
        spent: PublicSpending,
        /// Milliseconds from the question to the end.
        took_ms: u64,
        /// Of these, how many it waited for people alone.
        #[serde(skip_serializing_if = "is_zero")]
        paused_ms: u64,
    },
}

/// Why something failed: a code and a fact.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicFailure<'a> {
    /// The code to branch on. `docs/errors.md` has them all.
    pub code: ErrorCode,
    /// The fact that completes the code's sentence: a number, a name, a provider's words. May be empty.
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
