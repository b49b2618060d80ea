//! Effects that a run owes. [`crate::run::Run::due`] lists them; the driver performs them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error_code::Failure;
use crate::id::{CallId, ChildId, FileName, HumanRequestId, MessageId};
use crate::settings::{ModelChoice, Role};
use crate::tool::{EffectClass, ToolCall, ToolPolicy};

/// An action that is due until an input answers or cancels it.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Calls a model for a message. Answered by `ModelReplied` or `ModelFailed`.
    CallModel(ModelCall),
    /// Calls a tool. Answered by `ToolReturned`; for a hand-over, by `AgentChanged` unless it fails.
    RunTool(ToolInvocation),
    /// Waits for a time. Answered by `LimitReached`.
    Wait {
        /// The limit that ends the wait.
        limit: Limit,
        /// The end of the wait, Unix milliseconds: see [`crate::run::Run::next_limit`].
        until_ms: i64,
    },
    /// Starts a child, in this or in another invocation. Answered by `ChildEnded`. Until then, a child
    /// without a driver is dispatched again.
    RunChild(ChildDispatch),
    /// Waits for a user's response. Answered by `HumanResponded` or `HumanRequestExpired`. In a child, only
    /// by `HumanResponded`, because responses go to the child's run.
    AwaitHuman(AwaitHuman),
    /// Writes the plan to its file. Answered by `PlanSaved`; then a newer version is due, if one exists.
    SavePlan {
        /// The version of the plan, from 1.
        version: u32,
    },
    /// Writes a run's answer to a file before its caller receives the answer. Answered by `AnswerSaved`.
    SaveAnswer(AnswerFile),
    /// Delivers an item that is owed to others at the end of work. Answered by `Delivered`.
    Deliver(Delivery),
}

/// An answer that is kept as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerFile {
    /// The file name, if the answer is a file. An answer that is only too long for its caller goes to an
    /// internal file named after its run.
    pub name: Option<FileName>,
    /// The whole text of the answer.
    pub text: String,
}

/// A child whose dispatch is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildDispatch {
    /// The id of the child, which identifies its journal and its lease.
    pub child: ChildId,
    /// True if no other child is due; the driver of the run may then drive the child itself.
    pub alone: bool,
    /// The number of crashes of the run's driver while the child was at work.
    pub crashes: u32,
    /// True if the child must not start yet. Either it first needs a user's response, or a suspect of a crash
    /// runs alone.
    pub waits: bool,
}

/// A user's response that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitHuman {
    /// The request that the response must name.
    pub request: HumanRequestId,
    /// The time of the default response, Unix milliseconds. `None`: never, or in another run.
    pub until_ms: Option<i64>,
}

/// A model call that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// The message that the call writes; also the call's name in headers, logs and spans.
    pub message: MessageId,
    /// The role, which selects the model and the prompts.
    pub role: Role,
    /// The number of the attempt, from 1: earlier failures in the journal and crashes count.
    pub attempt: u32,
    /// The number of earlier attempts that failed; the others crashed.
    pub failures: u32,
    /// The number of crashes and standstills during the call.
    pub crashes: u32,
    /// Failures of the calling model, which are the used retries, including silent attempts.
    pub retries: u32,
    /// The calling model, if it is not the role's own.
    pub fallback: Option<Fallback>,
    /// The choice of tools for the call.
    pub tool_choice: ToolChoice,
    /// The number of interrupts after which the call is repeated.
    pub interrupts: u32,
    /// The earliest time of the call, Unix milliseconds, if the run waits for the provider.
    pub retry_at_ms: Option<i64>,
    /// The time of the first of the consecutive temporary failures, Unix milliseconds.
    pub failing_since_ms: Option<i64>,
    /// True if the call must not start yet, because a suspect of a crash runs alone.
    pub waits: bool,
}

/// A model that makes a call in place of its role's own model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// The name of the model in the settings.
    pub model: String,
    /// The reason why the role's own model did not make the call.
    pub failure: Failure,
}

impl ModelCall {
    /// Returns whether the role's own model or the fallback makes the call.
    #[must_use]
    pub fn model_choice(&self) -> ModelChoice {
        if self.fallback.is_some() { ModelChoice::Fallback } else { ModelChoice::Primary }
    }
}

/// A tool call that is due.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInvocation {
    /// The call with its arguments after repair.
    pub call: ToolCall,
    /// SHA-256 of the schema that the model was offered. Only a tool with this schema is called.
    pub schema_hash: String,
    /// The tool's policy at the time when users and the guard allowed the call.
    pub policy: ToolPolicy,
    /// The effect of a second call.
    pub class: EffectClass,
    /// Maximum milliseconds of the call.
    pub timeout_ms: u64,
    /// The number of the attempt, from 1: crashes and standstills during the call count.
    pub attempt: u32,
    /// True if the start of the call is in the journal; only relevant for `once` calls.
    pub started: bool,
    /// The number of interrupts after which the call is repeated.
    pub interrupts: u32,
    /// True if the call must not start yet, because a suspect of a crash runs alone.
    pub waits: bool,
}

/// The choice of tools for a model call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model must not call any tool.
    None,
    /// The model may call tools.
    #[default]
    Auto,
    /// The model must call a tool.
    Required,
    /// The model must call this tool.
    Named(String),
}

/// A limit that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The whole of the wall-time budget.
    WallTime,
    /// The wall-time budget minus the time for the summary.
    WorkTime,
    /// The maximum number of handoffs.
    Hops,
}

/// A delivery that is owed to others at the end of a run or of its work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Removes the recurring alarm of the run.
    AlarmRemoval,
    /// Puts the child's result into its run's mailbox.
    ChildResult,
    /// Tells this child of the run to stop, because the run no longer waits for it.
    StopChild(ChildId),
    /// Puts the child's requests into its run's mailbox, of this version or newer.
    ChildRequest(u32),
    /// Puts this response into the mailbox of the child with the request.
    HumanResponse(HumanRequestId),
}

/// The id of an effect, without the attempt.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectId {
    /// The model call for this message.
    Model(MessageId),
    /// The tool call with this id.
    Tool(CallId),
    /// The dispatch of this child.
    Child(ChildId),
    /// The wait for this limit.
    Wait(Limit),
    /// The effect after this number of interrupts. Drivers treat each repeat as another effect.
    Repeated(Box<EffectId>, u32),
    /// The wait for a response to this request.
    Human(HumanRequestId),
    /// The write of this version of the plan.
    Plan(u32),
    /// The write of the answer's file.
    Answer,
    /// The delivery with this value.
    Deliver(Delivery),
}

impl Effect {
    /// Returns the id of the effect, unique among all effects of a run.
    #[must_use]
    pub fn id(&self) -> EffectId {
        match self {
            Self::CallModel(call) => {
                EffectId::Model(call.message.clone()).after_interrupts(call.interrupts)
            }
            Self::RunTool(run) => {
                EffectId::Tool(run.call.id.clone()).after_interrupts(run.interrupts)
            }
            Self::AwaitHuman(ask) => EffectId::Human(ask.request.clone()),
            Self::Wait { limit, .. } => EffectId::Wait(*limit),
            Self::RunChild(dispatch) => EffectId::Child(dispatch.child.clone()),
            Self::SavePlan { version } => EffectId::Plan(*version),
            Self::SaveAnswer(_) => EffectId::Answer,
            Self::Deliver(delivery) => EffectId::Deliver(delivery.clone()),
        }
    }

    /// Returns the time of the first repeated call among effects that waits for a provider, Unix milliseconds.
    #[must_use]
    pub fn next_retry_ms(effects: &[Self]) -> Option<i64> {
        effects.iter().filter_map(Self::delayed_until_ms).min()
    }

    /// Returns the earliest start of a call that waits for its provider, Unix milliseconds.
    #[must_use]
    pub fn delayed_until_ms(&self) -> Option<i64> {
        let Self::CallModel(call) = self else { return None };
        call.retry_at_ms
    }

    /// Returns true if the effect is due but must not start yet.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        match self {
            Self::CallModel(call) => call.waits,
            Self::RunTool(run) => run.waits,
            Self::RunChild(dispatch) => dispatch.waits,
            Self::Wait { .. }
            | Self::AwaitHuman(_)
            | Self::SavePlan { .. }
            | Self::SaveAnswer(_)
            | Self::Deliver(_) => false,
        }
    }
}

impl EffectId {
    /// Returns the id of the effect after `round` interrupts.
    #[must_use]
    pub fn after_interrupts(self, round: u32) -> Self {
        if round == 0 { self } else { Self::Repeated(Box::new(self), round) }
    }

    /// Returns the id of the effect before its first interrupt.
    #[must_use]
    pub fn without_interrupts(&self) -> &Self {
        if let Self::Repeated(first, _) = self { first } else { self }
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(message) => write!(f, "model:{message}"),
            Self::Tool(call) => write!(f, "tool:{call}"),
            Self::Child(child) => write!(f, "child:{child}"),
            Self::Wait(Limit::WallTime) => f.write_str("wait:wall_time"),
            Self::Wait(Limit::WorkTime) => f.write_str("wait:work_time"),
            Self::Wait(Limit::Hops) => f.write_str("wait:hops"),
            Self::Repeated(first, round) => write!(f, "{first}+{round}"),
            Self::Human(request) => write!(f, "human:{request}"),
            Self::Plan(version) => write!(f, "plan:{version}"),
            Self::Answer => f.write_str("answer"),
            Self::Deliver(Delivery::AlarmRemoval) => f.write_str("deliver:alarm_removal"),
            Self::Deliver(Delivery::ChildResult) => f.write_str("deliver:child_result"),
            Self::Deliver(Delivery::StopChild(child)) => write!(f, "deliver:stop_child:{child}"),
            Self::Deliver(Delivery::ChildRequest(version)) => {
                write!(f, "deliver:child_request:{version}")
            }
            Self::Deliver(Delivery::HumanResponse(request)) => {
                write!(f, "deliver:human_response:{request}")
            }
        }
    }
}
