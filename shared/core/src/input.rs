//! What a run can be told. The journal is the list of these, in order.

mod attempt_failed;
mod child_spec;
mod human;
mod model_changed;
mod run_spec;

use serde::{Deserialize, Serialize};

use crate::budget::{Spending, Usage};
use crate::conversation::{ChildReport, Turn};
use crate::effect::{Delivery, Limit};
use crate::error_code::Failure;
use crate::file::ProductFile;
use crate::human::{Interrupt, ResponseRecord};
use crate::id::{CallId, HumanRequestId, MessageId, UserId};
use crate::status::RunStatus;
use crate::tool::{FullOutput, ToolResult};
pub use attempt_failed::AttemptFailed;
pub use child_spec::ChildSpec;
pub use djinn_calls::reply::{
    DroppedContext, FinishReason, ModelReplied, Reply, RequestedCall, WindowUsage,
};
pub use human::{ChildRequest, InterruptTarget, PlanEdit, UserMessage};
pub use model_changed::ModelChanged;
pub use run_spec::RunSpec;

/// Something a run is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input")]
pub enum Input {
    /// The question. Always the first input, and never again.
    #[serde(rename = "started")]
    Started(Box<RunSpec>),
    /// The lease was taken over from a driver that had not released it.
    #[serde(rename = "resumed")]
    Resumed {
        /// The lease's new epoch; the driver of a lower one stops.
        epoch: u64,
        /// What the model calls that were owed then are taken to have cost: what they did cost died
        /// with their driver.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost_usage: Option<Usage>,
        /// Whether what had taken down two drivers was done by itself by then, so that this one died
        /// over nothing that had to wait. In older journals it counts against all that was owed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        isolated: bool,
    },
    /// An attempt at a model call failed after it had sent text; or some failed without, and cost
    /// something, or whoever made them has no time for another.
    #[serde(rename = "model.attempt_failed")]
    AttemptFailed(Box<AttemptFailed>),
    /// A model replied to a call that was owed.
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
        /// The failure that the run is told instead of a reply.
        failure: Failure,
    },
    /// A `once` call is about to run.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The id of the call that begins.
        call: CallId,
    },
    /// The process stood still during a tool call, which failed and can be repeated. It counts against the call as a
    /// death of its driver does.
    #[serde(rename = "tool.stalled")]
    ToolStalled {
        /// The id of the call that failed.
        call: CallId,
        /// The number of the attempt that failed, from 1.
        attempt: u32,
    },
    /// A tool call came to an end.
    #[serde(rename = "tool.returned")]
    ToolReturned {
        /// The id of the call that was owed.
        call: CallId,
        /// What came of it.
        result: ToolResult,
        /// Milliseconds from the start of the call to its result, retries included.
        took_ms: u64,
    },
    /// A user added a file to the session.
    #[serde(rename = "file.added")]
    FileAdded {
        /// Names this message, so that a repeat is ignored.
        id: String,
        /// The file as it was stored.
        file: ProductFile,
    },
    /// Somebody asked the run to stop.
    #[serde(rename = "stop.requested")]
    StopRequested {
        /// The user who asked for the stop.
        by: UserId,
        /// What the message being written said until then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<PartialMessage>,
    },
    /// A limit was reached.
    #[serde(rename = "limit.reached")]
    LimitReached {
        /// The limit whose moment has come, or that is used up.
        limit: Limit,
    },
    /// A child came to its end.
    #[serde(rename = "child.ended")]
    ChildEnded(Box<ChildEnded>),
    /// A tool or a model stopped in the middle and can go on once a person has seen to it.
    #[serde(rename = "interrupted")]
    Interrupted {
        /// The call that stopped in the middle, of a tool or of a model.
        target: InterruptTarget,
        /// The code and the sentence with which it stopped.
        interrupt: Interrupt,
    },
    /// A person answered what was asked.
    #[serde(rename = "human.responded")]
    HumanResponded(Box<ResponseRecord>),
    /// Nobody answered in time.
    #[serde(rename = "human.expired")]
    HumanRequestExpired {
        /// The request that nobody answered.
        request: HumanRequestId,
    },
    /// A person told the run something while it was at work.
    #[serde(rename = "user_message.added")]
    UserMessageAdded(Box<UserMessage>),
    /// A person changed the plan.
    #[serde(rename = "plan.edited")]
    PlanEdited(Box<PlanEdit>),
    /// A child asks, or waits for what it has asked.
    #[serde(rename = "child.requested")]
    ChildRequested(Box<ChildRequest>),
    /// The plan was written to its file, or could not be.
    #[serde(rename = "plan.saved")]
    PlanSaved {
        /// The version of the plan whose file was written, or could not be.
        version: u32,
    },
    /// The answer was kept as a file, or could not be.
    #[serde(rename = "answer.saved")]
    AnswerSaved {
        /// The file; none where it could not be written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<ProductFile>,
    },
    /// Something that was owed to others was delivered.
    #[serde(rename = "delivered")]
    Delivered {
        /// The delivery that is owed no more.
        delivery: Delivery,
    },
}

impl Input {
    /// The message of the model call that it tells something of, if it does.
    #[must_use]
    pub fn model_message(&self) -> Option<&MessageId> {
        match self {
            Self::AttemptFailed(failed) => Some(&failed.message),
            Self::ModelReplied(replied) => Some(&replied.message),
            Self::ModelChanged(changed) => Some(&changed.message),
            Self::ModelFailed { message, .. }
            | Self::Interrupted { target: InterruptTarget::Message(message), .. } => Some(message),
            Self::Started(_)
            | Self::Resumed { .. }
            | Self::ToolStarted { .. }
            | Self::ToolStalled { .. }
            | Self::ToolReturned { .. }
            | Self::FileAdded { .. }
            | Self::StopRequested { .. }
            | Self::LimitReached { .. }
            | Self::ChildEnded(_)
            | Self::Interrupted { target: InterruptTarget::Call(_), .. }
            | Self::HumanResponded(_)
            | Self::HumanRequestExpired { .. }
            | Self::UserMessageAdded(_)
            | Self::PlanEdited(_)
            | Self::ChildRequested(_)
            | Self::PlanSaved { .. }
            | Self::AnswerSaved { .. }
            | Self::Delivered { .. } => None,
        }
    }

    /// The input's name, for logs and spans.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Started(_) => "started",
            Self::Resumed { .. } => "resumed",
            Self::AttemptFailed(_) => "model.attempt_failed",
            Self::ModelReplied(_) => "model.replied",
            Self::ModelChanged(_) => "model.changed",
            Self::ModelFailed { .. } => "model.failed",
            Self::ToolStarted { .. } => "tool.started",
            Self::ToolStalled { .. } => "tool.stalled",
            Self::ToolReturned { .. } => "tool.returned",
            Self::FileAdded { .. } => "file.added",
            Self::StopRequested { .. } => "stop.requested",
            Self::LimitReached { .. } => "limit.reached",
            Self::ChildEnded(_) => "child.ended",
            Self::Interrupted { .. } => "interrupted",
            Self::HumanResponded(_) => "human.responded",
            Self::HumanRequestExpired { .. } => "human.expired",
            Self::UserMessageAdded(_) => "user_message.added",
            Self::PlanEdited(_) => "plan.edited",
            Self::ChildRequested(_) => "child.requested",
            Self::PlanSaved { .. } => "plan.saved",
            Self::AnswerSaved { .. } => "answer.saved",
            Self::Delivered { .. } => "delivered",
        }
    }
}

/// How a run below another one ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildEnded {
    /// What joins the run's conversation.
    pub report: ChildReport,
    /// Its status; `finished` or not.
    pub status: RunStatus,
    /// The files it wrote, oldest first.
    pub files: Vec<ProductFile>,
    /// What it used up.
    pub spent: Spending,
    /// Its newest turns, cut short, if its tool calls are to join the run's conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// Whether it has read text that anybody may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// Where the whole of its answer lies, when the report's text was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output: Option<FullOutput>,
    /// The number of entries in its journal, all of which viewers are shown before its end. `None` in records of older
    /// versions, and where the journal was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_count: Option<u64>,
}

/// A result that the user wants otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// What came of the attempt before.
    pub previous_result: String,
    /// What the user says of it.
    pub instructions: String,
}

/// What a stopped message said until then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialMessage {
    /// The id of the message that was stopped.
    pub message: MessageId,
    /// Its text so far.
    pub text: String,
}
