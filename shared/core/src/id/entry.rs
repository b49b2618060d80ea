//! Entries of the public history.

use std::fmt;

use crate::id::child::ChildId;
use crate::id::count::parse_count;
use crate::id::human_request::{HumanRequestId, RequestName};
use crate::id::message::{CallId, CallName, MessageId, MessageName};
use crate::id::path::{LocalName, Path, Scoped};
use crate::id::task::StepId;

/// The id of an entry, unique in its run's history: `t3`, `t3.c1`, `t3.c1.result`, `end`; `s2.1.t3` in a
/// child.
pub type EntryId = Scoped<EntryName>;

/// The name of an entry in its run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryName {
    /// The start of a run or a task.
    Start,
    /// The end of a run or a task.
    End,
    /// The judgement of an answer.
    Reviewed,
    /// The end of a task's step.
    Step,
    /// The plan at the start of a workflow.
    Plan,
    /// A take-over by another driver, with a lease of this epoch.
    Resumed(u64),
    /// A file that a user added, by the message with this id.
    File(String),
    /// A user message with this id.
    UserMessage(String),
    /// A user's change of the plan with this id.
    PlanEdit(String),
    /// A complete message of a model.
    Message(MessageName),
    /// A failed attempt at a message, by the number of failures.
    Reset(MessageName, u32),
    /// The rejection of a complete message by a reviewer.
    Rejected(MessageName),
    /// A change of a message's model, by the number of changes.
    ModelChange(MessageName, u32),
    /// A delay of a message, by the number of failures.
    Delay(MessageName, u32),
    /// A change of the plan by a turn's reply.
    MessagePlan(MessageName),
    /// A call that a model requested.
    Call(CallName),
    /// The result of a call.
    CallResult(CallName),
    /// A change of the run's agent by a call.
    AgentChange(CallName),
    /// The verdict of an agent by a call.
    Verdict(CallName),
    /// A change of the plan by a response about a call.
    CallPlan(CallName),
    /// A human request to users.
    Requested(RequestName),
    /// The resolution of a human request.
    Resolved(RequestName),
    /// A change of the plan by a response about this step.
    StepPlan(StepId),
}

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::End => f.write_str("end"),
            Self::Reviewed => f.write_str("reviewed"),
            Self::Step => f.write_str("step"),
            Self::Plan => f.write_str("plan"),
            Self::Resumed(epoch) => write!(f, "resumed.{epoch}"),
            Self::File(id) => write!(f, "file.{id}"),
            Self::UserMessage(id) => write!(f, "user_message.{id}"),
            Self::PlanEdit(id) => write!(f, "edit.{id}"),
            Self::Message(message) => write!(f, "{message}"),
            Self::Reset(message, count) => write!(f, "{message}.reset{count}"),
            Self::Rejected(message) => write!(f, "{message}.rejected"),
            Self::ModelChange(message, count) => write!(f, "{message}.model{count}"),
            Self::Delay(message, count) => write!(f, "{message}.delay{count}"),
            Self::MessagePlan(message) => write!(f, "{message}.plan"),
            Self::Call(call) => write!(f, "{call}"),
            Self::CallResult(call) => write!(f, "{call}.result"),
            Self::AgentChange(call) => write!(f, "{call}.agent"),
            Self::Verdict(call) => write!(f, "{call}.verdict"),
            Self::CallPlan(call) => write!(f, "{call}.resolved.plan"),
            Self::Requested(request) => write!(f, "{request}.requested"),
            Self::Resolved(request) => write!(f, "{request}.resolved"),
            Self::StepPlan(step) => write!(f, "steps.{step}.plan"),
        }
    }
}

impl LocalName for EntryName {
    const WHAT: &'static str = "entry id";
    const RULE: &'static str = "the id of an entry, as t3.c1.result or s2.1.end";

    fn parse(text: &str) -> Option<Self> {
        Self::parse_fixed(text)
            .or_else(|| Self::parse_prefixed(text))
            .or_else(|| Self::parse_suffixed(text))
            .or_else(|| MessageName::parse(text).map(Self::Message))
            .or_else(|| CallName::parse(text).map(Self::Call))
    }
}

impl EntryName {
    fn parse_fixed(text: &str) -> Option<Self> {
        match text {
            "start" => Some(Self::Start),
            "end" => Some(Self::End),
            "reviewed" => Some(Self::Reviewed),
            "step" => Some(Self::Step),
            "plan" => Some(Self::Plan),
            _ => None,
        }
    }

    fn parse_prefixed(text: &str) -> Option<Self> {
        let (prefix, id) = text.split_once('.')?;
        match prefix {
            "resumed" => {
                id.parse().ok().filter(|epoch: &u64| epoch.to_string() == id).map(Self::Resumed)
            }
            "file" => Some(Self::File(id.to_owned())),
            "user_message" => Some(Self::UserMessage(id.to_owned())),
            "edit" => Some(Self::PlanEdit(id.to_owned())),
            _ => None,
        }
    }

    fn parse_suffixed(text: &str) -> Option<Self> {
        let (subject, suffix) = text.rsplit_once('.')?;
        let count_after = |word: &str| suffix.strip_prefix(word).and_then(parse_count);
        match suffix {
            "result" => CallName::parse(subject).map(Self::CallResult),
            "agent" => CallName::parse(subject).map(Self::AgentChange),
            "verdict" => CallName::parse(subject).map(Self::Verdict),
            "requested" => RequestName::parse(subject).map(Self::Requested),
            "resolved" => RequestName::parse(subject).map(Self::Resolved),
            "plan" => Self::parse_plan(subject),
            "rejected" => MessageName::parse(subject).map(Self::Rejected),
            _ => {
                let message = MessageName::parse(subject)?;
                let reset = count_after("reset").map(|count| Self::Reset(message, count));
                reset
                    .or_else(|| count_after("model").map(|count| Self::ModelChange(message, count)))
                    .or_else(|| count_after("delay").map(|count| Self::Delay(message, count)))
            }
        }
    }

    /// Parses the cause of a plan's change.
    fn parse_plan(subject: &str) -> Option<Self> {
        if let Some(call) = subject.strip_suffix(".resolved") {
            return CallName::parse(call).map(Self::CallPlan);
        }
        let message = MessageName::parse(subject).map(Self::MessagePlan);
        let step = || parse_count(subject.strip_prefix("steps.s")?).map(StepId);
        message.or_else(|| step().map(Self::StepPlan))
    }
}

impl EntryId {
    /// Returns the id of the run's first entry.
    #[must_use]
    pub fn start() -> Self {
        Self::local(EntryName::Start)
    }

    /// Returns the id of the run's last entry.
    #[must_use]
    pub fn end() -> Self {
        Self::local(EntryName::End)
    }

    /// Returns the id of a child's entry in the run above.
    #[must_use]
    pub fn of_child(child: impl Into<ChildId>, name: EntryName) -> Self {
        Self::at(Path::to(child), name)
    }

    /// Returns the id of an entry about a message.
    #[must_use]
    pub fn of_message(message: &MessageId, name: impl FnOnce(MessageName) -> EntryName) -> Self {
        Self::at(message.path().clone(), name(*message.name()))
    }

    /// Returns the id of an entry about a call.
    #[must_use]
    pub fn of_call(call: &CallId, name: impl FnOnce(CallName) -> EntryName) -> Self {
        Self::at(call.path().clone(), name(*call.name()))
    }

    /// Returns the id of an entry about a human request.
    #[must_use]
    pub fn of_request(
        request: &HumanRequestId,
        name: impl FnOnce(RequestName) -> EntryName,
    ) -> Self {
        Self::at(request.path().clone(), name(request.name().clone()))
    }
}
