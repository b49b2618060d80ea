//! What a run can be told. The journal is the list of these, in order.

mod asked;
mod model_changed;
mod people;
mod round_start;

use serde::{Deserialize, Serialize};

use crate::budget::{Spent, Usage};
use crate::code::Failure;
use crate::conversation::{Reasoning, Turn};
use crate::effect::{Delivery, Limit};
use crate::feedback::{Answered, Interrupt};
use crate::file::ProductFile;
use crate::id::{CallId, FeedbackId, FileName, MessageId, TaskId, UserId};
use crate::status::RunStatus;
use crate::tool::{Arguments, OfferedTool, Outcome};
pub use asked::Asked;
pub use model_changed::ModelChanged;
pub use people::{Interrupted, PlanEdited, Said, TaskAsks};
pub use round_start::RoundStart;

/// Something a run is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input")]
pub enum Input {
    /// The question. Always the first input, and never again.
    #[serde(rename = "asked")]
    Asked(Box<Asked>),
    /// The lease was taken over from a driver that had not released it.
    #[serde(rename = "resumed")]
    Resumed {
        /// The lease's new epoch; the driver of a lower one stops.
        epoch: u64,
        /// What the model calls that were owed then are taken to have cost: what they did cost died
        /// with their driver.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<Usage>,
        /// Whether what had taken down two drivers was done by itself by then, so that this one died
        /// over nothing that had to wait. In older journals it counts against all that was owed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        apart: bool,
    },
    /// An attempt at a model call failed after it had sent text; or some failed without, and cost
    /// something, or whoever made them has no time for another.
    #[serde(rename = "model.attempt_failed")]
    AttemptFailed {
        /// The message it was writing.
        message: MessageId,
        /// Which attempt, from 1.
        attempt: u32,
        /// Why.
        failure: Failure,
        /// What it cost, as far as that is known, with those before it that are no record's.
        usage: Usage,
        /// Whether its process stood still meanwhile: then the last uses up no retry.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stood_still: bool,
        /// How many attempts of the model that makes the call failed since the last record of one.
        #[serde(default = "once", skip_serializing_if = "is_once")]
        times: u32,
        /// Whether none of them had sent text: there is nothing to take back.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        silent: bool,
    },
    /// The model replied.
    #[serde(rename = "model.replied")]
    ModelReplied(Box<ModelReplied>),
    /// Another model makes a call from here on.
    #[serde(rename = "model.changed")]
    ModelChanged(Box<ModelChanged>),
    /// The model call failed for good.
    #[serde(rename = "model.failed")]
    ModelFailed {
        /// The message it was to write.
        message: MessageId,
        /// Why.
        failure: Failure,
    },
    /// A `once` call is about to run.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The call.
        call: CallId,
    },
    /// A tool call came to an end.
    #[serde(rename = "tool.returned")]
    ToolReturned {
        /// The call.
        call: CallId,
        /// What came of it.
        outcome: Outcome,
        /// Milliseconds it took.
        took_ms: u64,
    },
    /// A user added a file to the session.
    #[serde(rename = "file.added")]
    FileAdded {
        /// Names this message, so that a repeat is ignored.
        id: String,
        /// The file.
        file: ProductFile,
    },
    /// Somebody asked the run to stop.
    #[serde(rename = "stop.asked")]
    StopAsked {
        /// Who.
        by: UserId,
        /// What the message being written said until then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<Partial>,
    },
    /// A limit was reached.
    #[serde(rename = "limit.reached")]
    LimitReached {
        /// Which.
        limit: Limit,
    },
    /// A task came to its end.
    #[serde(rename = "task.ended")]
    TaskEnded(Box<TaskEnded>),
    /// A tool or a model stopped in the middle and can go on once a person has seen to it.
    #[serde(rename = "interrupted")]
    Interrupted {
        /// What was interrupted.
        of: Interrupted,
        /// Why.
        interrupt: Interrupt,
    },
    /// A person answered what was asked.
    #[serde(rename = "human.answered")]
    HumanAnswered(Box<Answered>),
    /// Nobody answered in time.
    #[serde(rename = "feedback.expired")]
    FeedbackExpired {
        /// What was asked.
        feedback: FeedbackId,
    },
    /// A person told the run something while it was at work.
    #[serde(rename = "user.said")]
    UserSaid(Box<Said>),
    /// A person changed the plan.
    #[serde(rename = "plan.edited")]
    PlanEdited(Box<PlanEdited>),
    /// A task asks, or waits for what it has asked.
    #[serde(rename = "task.asks")]
    TaskAsks(Box<TaskAsks>),
    /// The plan was written to its file, or could not be.
    #[serde(rename = "plan.kept")]
    PlanKept {
        /// Which version.
        version: u32,
    },
    /// Something that was owed to others was delivered.
    #[serde(rename = "delivered")]
    Delivered {
        /// What.
        delivery: Delivery,
    },
}

impl Input {
    /// The input's name, for logs and spans.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Asked(_) => "asked",
            Self::Resumed { .. } => "resumed",
            Self::AttemptFailed { .. } => "model.attempt_failed",
            Self::ModelReplied(_) => "model.replied",
            Self::ModelChanged(_) => "model.changed",
            Self::ModelFailed { .. } => "model.failed",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolReturned { .. } => "tool.returned",
            Self::FileAdded { .. } => "file.added",
            Self::StopAsked { .. } => "stop.asked",
            Self::LimitReached { .. } => "limit.reached",
            Self::TaskEnded(_) => "task.ended",
            Self::Interrupted { .. } => "interrupted",
            Self::HumanAnswered(_) => "human.answered",
            Self::FeedbackExpired { .. } => "feedback.expired",
            Self::UserSaid(_) => "user.said",
            Self::PlanEdited(_) => "plan.edited",
            Self::TaskAsks(_) => "task.asks",
            Self::PlanKept { .. } => "plan.kept",
            Self::Delivered { .. } => "delivered",
        }
    }
}

/// In records of before there were counts.
fn once() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_once(times: &u32) -> bool {
    *times == 1
}

/// What a task is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAsked {
    /// The task.
    pub task: TaskId,
    /// The step's words.
    pub words: String,
    /// What came of earlier rounds. Old records have it in `before`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<TaskReport>,
    /// What came of the steps of this round that it builds on, in the plan's order.
    pub before: Vec<TaskReport>,
    /// Tasks that may be at work at the same time; they share what viewers can be sent.
    #[serde(default)]
    pub at_once: u32,
    /// When its run needs its outcome at the latest, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at_ms: Option<i64>,
    /// Why the attempt before this one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_before: Option<String>,
    /// What the user wants otherwise than the attempt before had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redo: Option<Redo>,
    /// Whether its run has read text that anybody may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

impl TaskAsked {
    /// What came of the tasks before it, oldest round first.
    pub fn reports(&self) -> impl Iterator<Item = &TaskReport> {
        self.rounds.iter().chain(&self.before)
    }
}

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskEnded {
    /// What joins the run's conversation.
    pub report: TaskReport,
    /// Its status; `finished` or not.
    pub status: RunStatus,
    /// Why it did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The files it wrote, oldest first.
    pub files: Vec<ProductFile>,
    /// What it used up.
    pub spent: Spent,
    /// Its newest turns, cut short, if its tool calls are to join the run's conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// Whether it has read text that anybody may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

/// What the planner and later tasks are told of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReport {
    /// The task.
    pub task: TaskId,
    /// The step's words.
    pub words: String,
    /// What came of it, at most [`MAX_REPORT`] bytes; for a failed task, why.
    pub text: String,
    /// The names of its files.
    pub files: Vec<FileName>,
    /// Whether it did what it was to do.
    pub done: bool,
    /// Whether it was not carried out because a person did not want it: `text` is what they say of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    /// Whether its agent was cut off before it had said all of the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A result that the user wants otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redo {
    /// What came of the attempt before.
    pub result: String,
    /// What the user says of it.
    pub words: String,
}

/// Bytes of a task's text in its run's conversation; the whole stays in the task's journal.
pub const MAX_REPORT: usize = 4 * 1024;

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReplied {
    /// The message it is.
    pub message: MessageId,
    /// What it says.
    pub reply: Reply,
    /// The tools that were offered with the request.
    pub offered: Vec<OfferedTool>,
    /// What had to be left out of the request, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Dropped>,
    /// How much of the model's window the conversation took up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
}

/// What a model said, after repair.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Its text.
    #[serde(default)]
    pub text: String,
    /// What it thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// The tools it asks for, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<AskedCall>,
    /// Why it ended.
    pub finish: Finish,
    /// What it cost.
    pub usage: Usage,
}

/// A tool call as the model asked for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Arguments,
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model was done, or asks for tools.
    #[default]
    Done,
    /// It reached its output limit.
    Length,
    /// The provider's filter cut it.
    Filtered,
}

/// How large a request was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Its tokens, with what had to be left out: as the provider counted them, or as we did where
    /// that is more.
    pub tokens: u64,
    /// The tokens it could have had.
    pub limit: u64,
}

/// What of a conversation did not fit into a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// How many of its oldest pieces.
    pub pieces: u32,
    /// The tokens the request would have had with them.
    pub tokens_before: u64,
    /// The tokens it had.
    pub tokens: u64,
}

/// What a stopped message said until then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partial {
    /// The message.
    pub message: MessageId,
    /// Its text so far.
    pub text: String,
}
