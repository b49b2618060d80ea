//! What a run can owe the world. [`crate::run::Run::due`] lists it; the driver performs it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error_code::Failure;
use crate::id::{CallId, ChildId, FileName, HumanRequestId, MessageId};
use crate::settings::{ModelChoice, Role};
use crate::tool::{EffectClass, ToolCall, ToolPolicy};

/// Something owed: it stays due until the input that answers or cancels it.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask a model for a message. Answered by `ModelReplied` or `ModelFailed`.
    CallModel(ModelCall),
    /// Run a tool. Answered by `ToolReturned`.
    RunTool(ToolInvocation),
    /// Tell the run when a moment has come. Answered by `LimitReached`.
    Wait {
        /// The limit whose moment is waited for.
        limit: Limit,
        /// When it has to be told something, Unix milliseconds: see [`crate::run::Run::next_limit`].
        until_ms: i64,
    },
    /// Have a child worked on, here or in another invocation. Answered by `ChildEnded`; until then a
    /// child that nobody drives is dispatched again.
    RunChild(ChildDispatch),
    /// Hear what a person says. Answered by `HumanResponded` or `HumanRequestExpired`; in a child, whose run
    /// is the one that is answered, by `HumanResponded` alone.
    AwaitHuman(AwaitHuman),
    /// Write the plan to its file. Answered by `PlanSaved`; then a newer version is owed, if there is one.
    SavePlan {
        /// Which version, from 1.
        version: u32,
    },
    /// Keep a run's answer as a file, before its caller is told of it. Answered by `AnswerSaved`.
    SaveAnswer(AnswerFile),
    /// Deliver what is owed to others when work ends. Answered by `Delivered`.
    Deliver(Delivery),
}

/// An answer that is kept as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerFile {
    /// Its name, where the answer is to be a file. One that is only too long to be told whole has an
    /// internal file, named after its run.
    pub name: Option<FileName>,
    /// All of the answer.
    pub text: String,
}

/// A child that is owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildDispatch {
    /// The id of the child, by which its journal and its lease are found.
    pub child: ChildId,
    /// Whether it is the only one: it may be driven where the run is.
    pub alone: bool,
    /// How often its run's driver died while it was at work.
    pub crashes: u32,
    /// Whether nobody is to begin to work on it yet: it can do nothing before a person answers, or
    /// something else that may have taken drivers down is to be done by itself.
    pub waits: bool,
}

/// A person's answer that is owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitHuman {
    /// The request that the answer has to name.
    pub request: HumanRequestId,
    /// When nobody's answer is the default, Unix milliseconds. `None`: never, or not here.
    pub until_ms: Option<i64>,
}

/// A model call that is owed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// The message it writes; also the call's name in headers, logs and spans.
    pub message: MessageId,
    /// Which model, and which prompts.
    pub role: Role,
    /// Which attempt this is, from 1: failures in the journal and crashes before it count.
    pub attempt: u32,
    /// How many of the earlier ones were failures; the others were crashes.
    pub failures: u32,
    /// How many drivers died or stood still over it.
    pub crashes: u32,
    /// How often the model that makes it has failed: the retries used up, silent ones included.
    pub retries: u32,
    /// The model that makes it, if that is not its role's own.
    pub fallback: Option<Fallback>,
    /// Whether it may call tools.
    pub tool_choice: ToolChoice,
    /// How often it was interrupted and is made again.
    pub interrupts: u32,
    /// The moment before which it is not made, Unix milliseconds, if its provider is waited for.
    pub retry_at_ms: Option<i64>,
    /// The moment of the first of the failures in a row that may pass, Unix milliseconds.
    pub failing_since_ms: Option<i64>,
    /// Whether it is not to begin yet: something else may have taken drivers down, and is to be done
    /// by itself.
    pub waits: bool,
}

/// A model that makes a call in the place of its role's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// Its name in the settings.
    pub model: String,
    /// Why the role's own model did not make it.
    pub failure: Failure,
}

impl ModelCall {
    /// Which of its role's models makes it.
    #[must_use]
    pub fn model_choice(&self) -> ModelChoice {
        if self.fallback.is_some() { ModelChoice::Fallback } else { ModelChoice::Primary }
    }
}

/// A tool call that is owed.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInvocation {
    /// The call with its arguments, as the model asked for it after repair.
    pub call: ToolCall,
    /// SHA-256 of the schema that its tool was offered with: only such a tool is run.
    pub schema_hash: String,
    /// What was known of its tool's calls when people and the guard let it be made.
    pub policy: ToolPolicy,
    /// What a repeat does.
    pub class: EffectClass,
    /// Milliseconds it may take.
    pub timeout_ms: u64,
    /// Which attempt this is, from 1: drivers that died or stood still over it count.
    pub attempt: u32,
    /// Whether its start is in the journal; only of interest for `once` calls.
    pub started: bool,
    /// How often it was interrupted and is made again.
    pub interrupts: u32,
    /// Whether it is not to begin yet: something else may have taken drivers down, and is to be done
    /// by itself.
    pub waits: bool,
}

/// Whether a model may, must or must not call tools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model must not call any tool.
    None,
    /// The model decides for itself whether to call tools.
    #[default]
    Auto,
    /// It must call some tool.
    Required,
    /// It must call this one.
    Named(String),
}

/// A limit that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The whole of the wall-time budget.
    WallTime,
    /// The wall-time budget less what the summary needs.
    WorkTime,
    /// The number of hand-overs.
    Hops,
}

/// What is owed to others when a run, or its work, has ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Its recurring alarm is to be removed.
    AlarmRemoval,
    /// The child's outcome is to be put into its run's mailbox.
    ChildResult,
    /// This child of the run's is to be told to stop: nobody waits for it any more.
    StopChild(ChildId),
    /// What this child asks is to be put into its run's mailbox, as of this version or newer.
    ChildRequest(u32),
    /// This answer is to be put into the mailbox of the child that asked.
    HumanResponse(HumanRequestId),
}

/// Names an effect; the attempt is no part of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectId {
    /// The call that writes this message.
    Model(MessageId),
    /// The tool call with this id.
    Tool(CallId),
    /// The work on this child.
    Child(ChildId),
    /// Waiting for this limit.
    Wait(Limit),
    /// The same, made again after so many interrupts: to those that perform it, another effect.
    Repeated(Box<EffectId>, u32),
    /// The wait for an answer to this request.
    Human(HumanRequestId),
    /// Keeping this version of the plan.
    Plan(u32),
    /// Keeping the answer as a file.
    Answer,
    /// The delivery that this value names.
    Deliver(Delivery),
}

impl Effect {
    /// The effect's name: unique among everything a run ever owes.
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

    /// The moment before which it is not to begin, Unix milliseconds, if it waits for a provider.
    #[must_use]
    pub fn delayed_until_ms(&self) -> Option<i64> {
        let Self::CallModel(call) = self else { return None };
        call.retry_at_ms
    }

    /// Whether it is owed, but not to begin yet.
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
    /// The effect after so many interrupts.
    #[must_use]
    pub fn after_interrupts(self, round: u32) -> Self {
        if round == 0 { self } else { Self::Repeated(Box::new(self), round) }
    }

    /// The effect before it was interrupted.
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
