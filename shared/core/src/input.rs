//! The inputs of a run. The journal is the list of inputs in order.

mod agent_changed;
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
pub use crate::reply::{
    DroppedContext, FinishReason, ModelReplied, Reply, RequestedCall, WindowUsage,
};
use crate::status::RunStatus;
use crate::tool::{FullOutput, ToolResult};
use crate::verdict::Evidence;
pub use agent_changed::AgentChanged;
pub use attempt_failed::AttemptFailed;
pub use child_spec::ChildSpec;
pub use human::{ChildRequest, InterruptTarget, PlanEdit, UserMessage};
pub use model_changed::ModelChanged;
pub use run_spec::RunSpec;

/// An input of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input")]
pub enum Input {
    /// The question. Always the first input, and only there.
    #[serde(rename = "started")]
    Started(Box<RunSpec>),
    /// The lease was taken over from a driver that had not released it.
    #[serde(rename = "resumed")]
    Resumed {
        /// The lease's new epoch; a driver with a lower epoch stops.
        epoch: u64,
        /// The assumed cost of the model calls that were due. Their real cost died with their driver.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost_usage: Option<Usage>,
        /// True if suspects of two crashes were already performed alone, so that no waiting effect caused
        /// this crash. In older journals the crash counts against every due effect.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        isolated: bool,
    },
    /// An attempt at a model call failed after it had sent text. Also written after silent attempts that cost
    /// something, or if their driver has no time for another attempt.
    #[serde(rename = "model.attempt_failed")]
    AttemptFailed(Box<AttemptFailed>),
    /// A model replied to a due call.
    #[serde(rename = "model.replied")]
    ModelReplied(Box<ModelReplied>),
    /// Another model takes over a call.
    #[serde(rename = "model.changed")]
    ModelChanged(Box<ModelChanged>),
    /// Another agent takes the run over.
    #[serde(rename = "agent.changed")]
    AgentChanged(Box<AgentChanged>),
    /// The model call failed permanently.
    #[serde(rename = "model.failed")]
    ModelFailed {
        /// The message of the model call.
        message: MessageId,
        /// The failure, in place of a reply.
        failure: Failure,
    },
    /// A `once` call is about to start.
    #[serde(rename = "tool.started")]
    ToolStarted {
        /// The id of the call that begins.
        call: CallId,
    },
    /// A repeatable tool call failed, and the process stood still during the call. The failure counts against
    /// the call like a crash.
    #[serde(rename = "tool.stalled")]
    ToolStalled {
        /// The id of the failed call.
        call: CallId,
        /// The number of the failed attempt, from 1.
        attempt: u32,
    },
    /// A tool call has a result.
    #[serde(rename = "tool.returned")]
    ToolReturned {
        /// The id of the due call.
        call: CallId,
        /// The result of the call.
        result: ToolResult,
        /// Milliseconds from the start of the call to its result, including retries.
        took_ms: u64,
    },
    /// A user added a file to the session.
    #[serde(rename = "file.added")]
    FileAdded {
        /// The id of this message. A repeated id is ignored.
        id: String,
        /// The file as it was stored.
        file: ProductFile,
    },
    /// A user stopped the run.
    #[serde(rename = "stop.requested")]
    StopRequested {
        /// The user who requested the stop.
        by: UserId,
        /// The text of the unfinished message until the stop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partial: Option<PartialMessage>,
    },
    /// A limit was reached.
    #[serde(rename = "limit.reached")]
    LimitReached {
        /// The limit that was reached or used up.
        limit: Limit,
    },
    /// A child of the run ended.
    #[serde(rename = "child.ended")]
    ChildEnded(Box<ChildEnded>),
    /// A tool or a model was interrupted and can continue after a user has acted.
    #[serde(rename = "interrupted")]
    Interrupted {
        /// The interrupted call, of a tool or of a model.
        target: InterruptTarget,
        /// The code and the sentence of the interrupt.
        interrupt: Interrupt,
    },
    /// A user responded to a human request.
    #[serde(rename = "human.responded")]
    HumanResponded(Box<ResponseRecord>),
    /// A human request expired without a response.
    #[serde(rename = "human.expired")]
    HumanRequestExpired {
        /// The request without a response in time.
        request: HumanRequestId,
    },
    /// A user wrote a message to the run at work.
    #[serde(rename = "user_message.added")]
    UserMessageAdded(Box<UserMessage>),
    /// A user changed the plan.
    #[serde(rename = "plan.edited")]
    PlanEdited(Box<PlanEdit>),
    /// A child has human requests, or waits for their responses.
    #[serde(rename = "child.requested")]
    ChildRequested(Box<ChildRequest>),
    /// The plan was written to its file, or could not be written.
    #[serde(rename = "plan.saved")]
    PlanSaved {
        /// The version of the plan.
        version: u32,
    },
    /// The answer was written to a file, or could not be written.
    #[serde(rename = "answer.saved")]
    AnswerSaved {
        /// The file; `None` if it could not be written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<ProductFile>,
    },
    /// A delivery to others was made.
    #[serde(rename = "delivered")]
    Delivered {
        /// The delivery that is no longer due.
        delivery: Delivery,
    },
}

impl Input {
    /// Returns the message of the model call that the input concerns, if any.
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
            | Self::AgentChanged(_)
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

    /// Returns the input's name for logs and spans.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Started(_) => "started",
            Self::Resumed { .. } => "resumed",
            Self::AttemptFailed(_) => "model.attempt_failed",
            Self::ModelReplied(_) => "model.replied",
            Self::ModelChanged(_) => "model.changed",
            Self::AgentChanged(_) => "agent.changed",
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

/// The result of a run below another run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildEnded {
    /// The report that joins the conversation of the run above.
    pub report: ChildReport,
    /// The final status; `finished` or another end.
    pub status: RunStatus,
    /// The files that the child wrote, oldest first.
    pub files: Vec<ProductFile>,
    /// The spending of the child.
    pub spent: Spending,
    /// The newest turns, cut short, if the child's tool calls join the conversation of the run above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// Short results that the answer is based on, oldest first, for an agent that judges the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// True if the child has read text that anybody may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// The location of the whole answer if the report's text was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output: Option<FullOutput>,
    /// The number of entries in the child's journal. Viewers receive all of them before the child's end.
    /// `None` in records of older versions, and if the journal was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_count: Option<u64>,
}

/// A user's request to change a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// The result of the attempt before.
    pub previous_result: String,
    /// The user's instructions for the change.
    pub instructions: String,
}

/// The text of a message until the stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialMessage {
    /// The id of the stopped message.
    pub message: MessageId,
    /// The text until the stop.
    pub text: String,
}
