//! What people are asked.

use std::fmt;

use crate::child::ChildId;
use crate::count::parse_count;
use crate::message::{CallId, CallName, MessageId, MessageName};
use crate::path::{LocalName, Path, Scoped};
use crate::task::{StepId, TaskId};

/// Something that a person is asked, or a group of such: the call, message or step it is about, after the
/// way to the run it came up in. `t3.c1`, `s2.1.t3.c1`; all that is asked about the calls of a turn is `t3`.
pub type HumanRequestId = Scoped<RequestName>;

/// Something that a person is asked, within its run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestName {
    /// Whether the run may use up more than its budget; the offers are counted from 1.
    Budget(u32),
    /// All offers of more budget.
    Budgets,
    /// Whether what came of a task is what was wanted.
    Result,
    /// What came of this task.
    Task(TaskId),
    /// Whether this step may begin.
    Step(StepId),
    /// Whether steps may begin.
    Steps,
    /// What is asked about this message, or about its calls.
    Message(MessageName),
    /// Whether a model call that was interrupted so often is to be made again.
    ModelInterrupt(MessageName, u32),
    /// Whether this call may be made.
    Call(CallName),
    /// Whether a call that its tool interrupted so often is to be made again.
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
    const WHAT: &'static str = "feedback id";
    const RULE: &'static str = "the id of something that is asked, as t3.c1 or s2.1.t3.c1";

    fn parse(text: &str) -> Option<Self> {
        let fixed = match text {
            "budget" => Some(Self::Budgets),
            "result" => Some(Self::Result),
            "steps" => Some(Self::Steps),
            _ => None,
        };
        if fixed.is_some() {
            return fixed;
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
    /// Whether this call may be made.
    #[must_use]
    pub fn of_call(call: &CallId) -> Self {
        Self::at(call.path().clone(), RequestName::Call(*call.name()))
    }

    /// Whether a call that its tool interrupted so often is to be made again.
    #[must_use]
    pub fn of_call_interrupt(call: &CallId, count: u32) -> Self {
        Self::at(call.path().clone(), RequestName::CallInterrupt(*call.name(), count))
    }

    /// Whether a model call that was interrupted so often is to be made again.
    #[must_use]
    pub fn of_model_interrupt(message: &MessageId, count: u32) -> Self {
        Self::at(message.path().clone(), RequestName::ModelInterrupt(*message.name(), count))
    }

    /// Whether this step may begin.
    #[must_use]
    pub fn of_step(step: StepId) -> Self {
        Self::local(RequestName::Step(step))
    }

    /// Whether what came of this task is what was wanted.
    #[must_use]
    pub fn of_result(task: &TaskId) -> Self {
        Self::at(Path::to(task.clone()), RequestName::Result)
    }

    /// Whether the run may use up more, for the `count`th time.
    #[must_use]
    pub fn of_budget(count: u32) -> Self {
        Self::local(RequestName::Budget(count))
    }

    /// What names all that is asked together: an answer to it is one to all of them. A group's is itself.
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

    /// The request as the child knows it below which it came up; `None` for one of another child, or of
    /// none.
    #[must_use]
    pub fn within_child(&self, child: &ChildId) -> Option<Self> {
        let (first, rest) = self.path().split_first()?;
        (first == child).then(|| Self::at(rest, self.name().clone()))
    }
}
