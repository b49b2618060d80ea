//! Ids of messages and calls.

use std::fmt;

use crate::id::child::ChildId;
use crate::id::count::parse_count;
use crate::id::path::{LocalName, Path, Scoped};

/// The id of a model's reply: `t3` for the third turn, `t3.compact` for the summary of older turns before the
/// third turn, `summary` for the closing reply.
pub type MessageId = Scoped<MessageName>;

/// The id of a tool call: `t3.c1` is the first call of the third turn. Also the call's idempotency key in the
/// run.
pub type CallId = Scoped<CallName>;

/// The id of a message, unique in a tree of runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageKey {
    /// The path to the run of the message.
    pub path: Path,
    /// The id of the message, unique only in its run.
    pub message: MessageId,
}

/// The name of a message in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageName {
    /// The reply of the agent's turn with this number, from 1.
    Turn(u32),
    /// The summary of older turns before this turn's reply.
    Compaction(u32),
    /// The first closing summary.
    Summary,
    /// A further closing summary, after a review: the summary with this number, from 2.
    NextSummary(u32),
    /// The naming of a task's digital employees.
    Employees,
    /// The calls before the first turn, as an agent's file defines. No model writes this message.
    Before,
    /// The calls before the first turn of an agent that took the run over: this turn.
    BeforeTurn(u32),
    /// The call with the answer, as an agent's file defines. No model writes this message.
    After,
}

/// The name of a call in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallName {
    /// The message with the call.
    pub message: MessageName,
    /// The position of the call in its message, from 1.
    pub index: u32,
}

impl fmt::Display for MessageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn(turn) => write!(f, "t{turn}"),
            Self::Compaction(turn) => write!(f, "t{turn}.compact"),
            Self::Summary => f.write_str("summary"),
            Self::NextSummary(number) => write!(f, "summary.{number}"),
            Self::Employees => f.write_str("employees"),
            Self::Before => f.write_str("before"),
            Self::BeforeTurn(turn) => write!(f, "t{turn}.before"),
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
            _ if text.starts_with("summary.") => {
                let number = text.strip_prefix("summary.").and_then(parse_count)?;
                (number > 1).then_some(Self::NextSummary(number))
            }
            _ => {
                let (turn, suffix) = text.strip_prefix('t')?.split_once('.').unzip();
                match suffix {
                    Some("compact") => Some(Self::Compaction(parse_count(turn?)?)),
                    Some("before") => Some(Self::BeforeTurn(parse_count(turn?)?)),
                    Some(_) => None,
                    None => Some(Self::Turn(parse_count(text.strip_prefix('t')?)?)),
                }
            }
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
    /// Returns the id of the reply in turn `turn`, from 1.
    #[must_use]
    pub fn for_turn(turn: u32) -> Self {
        Self::local(MessageName::Turn(turn))
    }

    /// Returns the id of the first closing summary.
    #[must_use]
    pub fn summary() -> Self {
        Self::local(MessageName::Summary)
    }

    /// Returns the id of the closing summary with this number, from 1.
    #[must_use]
    pub fn nth_summary(number: u32) -> Self {
        if number > 1 { Self::local(MessageName::NextSummary(number)) } else { Self::summary() }
    }

    /// The naming of a task's digital employees.
    #[must_use]
    pub fn employees() -> Self {
        Self::local(MessageName::Employees)
    }

    /// Returns the id for the calls before an agent's first turn.
    #[must_use]
    pub fn before() -> Self {
        Self::local(MessageName::Before)
    }

    /// Returns the id for the calls before an agent's first turn, if the agent takes a run over at this turn.
    #[must_use]
    pub fn before_turn(turn: u32) -> Self {
        Self::local(MessageName::BeforeTurn(turn))
    }

    /// Returns the id for the call with an agent's answer.
    #[must_use]
    pub fn after() -> Self {
        Self::local(MessageName::After)
    }

    /// Returns the id of the summary of older turns before this turn. `None` if this message is not a turn.
    #[must_use]
    pub fn to_compaction(&self) -> Option<Self> {
        let turn = self.turn_number()?;
        Some(Self::at(self.path().clone(), MessageName::Compaction(turn)))
    }

    /// Returns the number of the turn, from 1; `None` if this message is not a turn.
    #[must_use]
    pub fn turn_number(&self) -> Option<u32> {
        let MessageName::Turn(turn) = self.name() else { return None };
        Some(*turn)
    }

    /// Returns true for a closing summary.
    #[must_use]
    pub fn is_summary(&self) -> bool {
        matches!(self.name(), MessageName::Summary | MessageName::NextSummary(_))
    }

    /// Returns true if an agent's file defines the message's calls instead of a model.
    #[must_use]
    pub fn is_of_agent_file(&self) -> bool {
        matches!(self.name(), MessageName::Before | MessageName::BeforeTurn(_) | MessageName::After)
    }

    /// Returns true for a summary of older turns.
    #[must_use]
    pub fn is_compaction(&self) -> bool {
        matches!(self.name(), MessageName::Compaction(_))
    }

    /// Returns true for the message that names a task's digital employees.
    #[must_use]
    pub fn is_employees(&self) -> bool {
        *self.name() == MessageName::Employees
    }
}

impl CallId {
    /// Returns the id of the message with the call.
    #[must_use]
    pub fn message(&self) -> MessageId {
        MessageId::at(self.path().clone(), self.name().message)
    }

    /// Returns the run that answers an agent call, one level below the run of the call. `None` for a call
    /// that is neither from a turn of this run nor before a turn.
    #[must_use]
    pub fn to_child(&self) -> Option<ChildId> {
        let CallName { message, index } = *self.name();
        let child = match message {
            MessageName::Turn(turn) => ChildId::Call { turn, index },
            MessageName::Before => ChildId::CallBefore { turn: None, index },
            MessageName::BeforeTurn(turn) => ChildId::CallBefore { turn: Some(turn), index },
            MessageName::Compaction(_)
            | MessageName::Summary
            | MessageName::NextSummary(_)
            | MessageName::Employees
            | MessageName::After => return None,
        };
        self.path().is_root().then_some(child)
    }

    /// Returns the call that a child answers, as the run above names the call; `None` for a task.
    #[must_use]
    pub fn of_child(child: &ChildId) -> Option<Self> {
        let (message, index) = match *child {
            ChildId::Task(_) | ChildId::Review(_) => return None,
            ChildId::Call { turn, index } => (MessageName::Turn(turn), index),
            ChildId::CallBefore { turn: None, index } => (MessageName::Before, index),
            ChildId::CallBefore { turn: Some(turn), index } => {
                (MessageName::BeforeTurn(turn), index)
            }
        };
        Some(Self::local(CallName { message, index }))
    }

    /// Returns the id of call number `index` (from 1) of a message.
    #[must_use]
    pub fn nth_of(message: &MessageId, index: usize) -> Self {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        Self::at(message.path().clone(), CallName { message: *message.name(), index })
    }
}
