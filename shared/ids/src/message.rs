//! Ids of messages and calls.

use std::fmt;

use crate::child::ChildId;
use crate::count::parse_count;
use crate::path::{LocalName, Path, Scoped};

/// One reply of a model: `t3` for the third turn, `t3.compact` for what sums up older turns before it,
/// `summary` for the closing one.
pub type MessageId = Scoped<MessageName>;

/// One tool call: `t3.c1` is the first call of the third turn. Also its idempotency key, within the run.
pub type CallId = Scoped<CallName>;

/// A message among those of a tree of runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageKey {
    /// The way to the run that writes it.
    pub path: Path,
    /// The id of the message, unique within that run only.
    pub message: MessageId,
}

/// A message within its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageName {
    /// The reply of this turn of the agent's, from 1.
    Turn(u32),
    /// What sums up older turns, before this turn's reply is asked for.
    Compaction(u32),
    /// The closing summary, of which a run has one at most.
    Summary,
    /// The naming of a task's digital employees.
    Employees,
    /// The calls that an agent's file has made before its first turn. No model writes it.
    Before,
    /// The call that an agent's file has made with its answer. No model writes it.
    After,
}

/// A call within its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallName {
    /// The message that asks for it.
    pub message: MessageName,
    /// Its place among the calls of that message, from 1.
    pub index: u32,
}

impl fmt::Display for MessageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn(turn) => write!(f, "t{turn}"),
            Self::Compaction(turn) => write!(f, "t{turn}.compact"),
            Self::Summary => f.write_str("summary"),
            Self::Employees => f.write_str("employees"),
            Self::Before => f.write_str("before"),
            Self::After => f.write_str("after"),
        }
    }
}

impl LocalName for MessageName {
    const WHAT: &'static str = "message id";
    const RULE: &'static str = "t and a number, with or without .compact, or summary";

    fn parse(text: &str) -> Option<Self> {
        match text {
            "summary" => Some(Self::Summary),
            "employees" => Some(Self::Employees),
            "before" => Some(Self::Before),
            "after" => Some(Self::After),
            _ => match text.strip_suffix(".compact") {
                Some(turn) => Some(Self::Compaction(parse_count(turn.strip_prefix('t')?)?)),
                None => Some(Self::Turn(parse_count(text.strip_prefix('t')?)?)),
            },
        }
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.c{}", self.message, self.index)
    }
}

impl LocalName for CallName {
    const WHAT: &'static str = "call id";
    const RULE: &'static str = "a message id, .c and a number";

    fn parse(text: &str) -> Option<Self> {
        let (message, index) = text.rsplit_once(".c")?;
        Some(Self { message: MessageName::parse(message)?, index: parse_count(index)? })
    }
}

impl MessageId {
    /// The model's reply of turn `turn`, counted from 1.
    #[must_use]
    pub fn for_turn(turn: u32) -> Self {
        Self::local(MessageName::Turn(turn))
    }

    /// The id of the closing summary.
    #[must_use]
    pub fn summary() -> Self {
        Self::local(MessageName::Summary)
    }

    /// The naming of a task's digital employees.
    #[must_use]
    pub fn employees() -> Self {
        Self::local(MessageName::Employees)
    }

    /// The calls that an agent's file has made before its first turn.
    #[must_use]
    pub fn before() -> Self {
        Self::local(MessageName::Before)
    }

    /// The call that an agent's file has made with its answer.
    #[must_use]
    pub fn after() -> Self {
        Self::local(MessageName::After)
    }

    /// The summing up of older turns before this turn's reply is asked for. `None` for what is no turn.
    #[must_use]
    pub fn to_compaction(&self) -> Option<Self> {
        let turn = self.turn_number()?;
        Some(Self::at(self.path().clone(), MessageName::Compaction(turn)))
    }

    /// The turn whose reply it is, counted from 1; `None` for what is no turn.
    #[must_use]
    pub fn turn_number(&self) -> Option<u32> {
        let MessageName::Turn(turn) = self.name() else { return None };
        Some(*turn)
    }

    /// Whether this is the closing summary rather than a turn.
    #[must_use]
    pub fn is_summary(&self) -> bool {
        *self.name() == MessageName::Summary
    }

    /// Whether an agent's file asks for its calls, and no model.
    #[must_use]
    pub fn is_of_agent_file(&self) -> bool {
        matches!(self.name(), MessageName::Before | MessageName::After)
    }

    /// Whether this sums up older turns.
    #[must_use]
    pub fn is_compaction(&self) -> bool {
        matches!(self.name(), MessageName::Compaction(_))
    }

    /// Whether this names a task's digital employees.
    #[must_use]
    pub fn is_employees(&self) -> bool {
        *self.name() == MessageName::Employees
    }
}

impl CallId {
    /// The message that asks for it.
    #[must_use]
    pub fn message(&self) -> MessageId {
        MessageId::at(self.path().clone(), self.name().message)
    }

    /// The run that answers it, if an agent is called, one level below the run that makes the call. `None`
    /// for a call that no turn of that run made.
    #[must_use]
    pub fn to_child(&self) -> Option<ChildId> {
        let CallName { message: MessageName::Turn(turn), index } = *self.name() else {
            return None;
        };
        self.path().is_root().then_some(ChildId::Call { turn, index })
    }

    /// The call that a child answers, as the run above names it; `None` for one that works on a step.
    #[must_use]
    pub fn of_child(child: &ChildId) -> Option<Self> {
        let ChildId::Call { turn, index } = *child else { return None };
        Some(Self::local(CallName { message: MessageName::Turn(turn), index }))
    }

    /// Call number `index` (from 1) of a message.
    #[must_use]
    pub fn nth_of(message: &MessageId, index: usize) -> Self {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        Self::at(message.path().clone(), CallName { message: *message.name(), index })
    }
}
