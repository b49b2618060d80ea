//! Ids of human requests.

use std::fmt;

use crate::id::child::ChildId;
use crate::id::count::parse_count;
use crate::id::message::{CallId, CallName, MessageId, MessageName};
use crate::id::path::{LocalName, Path, Scoped};
use crate::id::task::{StepId, TaskId};

/// The id of a human request or of a group: its call, message or step, after the path to its run. `t3.c1`,
/// `s2.1.t3.c1`; the group of all calls of a turn is `t3`.
pub type HumanRequestId = Scoped<RequestName>;

/// The name of a human request in its run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestName {
    /// A budget extension; offers are counted from 1.
    Budget(u32),
    /// The group of all budget extensions.
    Budgets,
    /// A review of a task's result.
    Result,
    /// The group of a review of this task's result.
    Task(TaskId),
    /// An approval of this step.
    Step(StepId),
    /// The group of all approvals of steps.
    Steps,
    /// A request about this message, or about its calls.
    Message(MessageName),
    /// An approval to repeat a model call after this number of interrupts.
    ModelInterrupt(MessageName, u32),
    /// An approval of this call.
    Call(CallName),
    /// An approval to repeat a call after this number of interrupts by its tool.
    CallInterrupt(CallName, u32),
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(count) => write!(f, "budget.{count}"),
            Self::Budgets => f.write_str("budget"),
            Self::Result => f.write_str("result"),
            Self::Task(task) => write!(f, "{task}"),
            Self::Step(step) => write!(f, "steps.{step}"),
            Self::Steps => f.write_str("steps"),
            Self::Message(message) => write!(f, "{message}"),
            Self::ModelInterrupt(message, count) => write!(f, "{message}.again{count}"),
            Self::Call(call) => write!(f, "{call}"),
            Self::CallInterrupt(call, count) => write!(f, "{call}.again{count}"),
        }
    }
}

impl LocalName for RequestName {
    const WHAT: &'static str = "human request id";
    const RULE: &'static str = "the id of something that is asked, as t3.c1 or s2.1.t3.c1";

    fn parse(text: &str) -> Option<Self> {
        let constant = match text {
            "budget" => Some(Self::Budgets),
            "result" => Some(Self::Result),
            "steps" => Some(Self::Steps),
            _ => None,
        };
        if constant.is_some() {
            return constant;
        }
        if let Some(count) = text.strip_prefix("budget.") {
            return parse_count(count).map(Self::Budget);
        }
        if let Some(step) = text.strip_prefix("steps.s") {
            return parse_count(step).map(StepId).map(Self::Step);
        }
        if let Some((stopped, count)) = text.rsplit_once(".again") {
            let count = parse_count(count)?;
            let call = CallName::parse(stopped).map(|call| Self::CallInterrupt(call, count));
            let message = || MessageName::parse(stopped);
            return call.or_else(|| message().map(|name| Self::ModelInterrupt(name, count)));
        }
        let task = || TaskId::parse(text).map(Self::Task);
        let message = || MessageName::parse(text).map(Self::Message);
        CallName::parse(text).map(Self::Call).or_else(message).or_else(task)
    }
}

impl HumanRequestId {
    /// Returns the id of the approval for this call.
    #[must_use]
    pub fn of_call(call: &CallId) -> Self {
        Self::at(call.path().clone(), RequestName::Call(*call.name()))
    }

    /// Returns the id of the approval to repeat a call after its `count`th interrupt by its tool.
    #[must_use]
    pub fn of_call_interrupt(call: &CallId, count: u32) -> Self {
        Self::at(call.path().clone(), RequestName::CallInterrupt(*call.name(), count))
    }

    /// Returns the id of the approval to repeat a model call after its `count`th interrupt.
    #[must_use]
    pub fn of_model_interrupt(message: &MessageId, count: u32) -> Self {
        Self::at(message.path().clone(), RequestName::ModelInterrupt(*message.name(), count))
    }

    /// Returns the id of the approval for this step.
    #[must_use]
    pub fn of_step(step: StepId) -> Self {
        Self::local(RequestName::Step(step))
    }

    /// Returns the id of the review of this task's result.
    #[must_use]
    pub fn of_result(task: &TaskId) -> Self {
        Self::at(Path::to(task.clone()), RequestName::Result)
    }

    /// Returns the id of the `count`th budget extension.
    #[must_use]
    pub fn of_budget(count: u32) -> Self {
        Self::local(RequestName::Budget(count))
    }

    /// Returns the group of the request. A response to the group responds to every request in it. The group
    /// of a group is the group itself.
    #[must_use]
    pub fn group(&self) -> Self {
        let mut path = self.path().clone();
        let name = match self.name() {
            RequestName::Budget(_) => RequestName::Budgets,
            RequestName::Step(_) => RequestName::Steps,
            RequestName::Call(call) => RequestName::Message(call.message),
            RequestName::CallInterrupt(call, _) => RequestName::Call(*call),
            RequestName::ModelInterrupt(message, _) => RequestName::Message(*message),
            RequestName::Result => match path.pop() {
                Some(ChildId::Task(task)) => RequestName::Task(task),
                _ => return self.clone(),
            },
            RequestName::Budgets
            | RequestName::Steps
            | RequestName::Task(_)
            | RequestName::Message(_) => return self.clone(),
        };
        Self::at(path, name)
    }

    /// Returns the request's id in the child below which the request came up; `None` for any other child.
    #[must_use]
    pub fn within_child(&self, child: &ChildId) -> Option<Self> {
        let (first, rest) = self.path().split_first()?;
        (first == child).then(|| Self::at(rest, self.name().clone()))
    }
}
