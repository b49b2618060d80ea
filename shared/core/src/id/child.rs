//! Ids of runs directly below another run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::bad_id::BadId;
use crate::id::count::parse_count;
use crate::id::task::TaskId;

/// The first part of the id of a run that judges an answer.
const REVIEW: &str = "review";

/// The word for the calls of an agent's file before the agent's first turn.
const BEFORE: &str = "before";

/// The id of a run among the runs directly below the same run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChildId {
    /// A run that works on a step of the plan above.
    Task(TaskId),
    /// A run that judges the answer of the run above: the review with this number, from 1.
    Review(u32),
    /// A run that answers a call of the agent above.
    Call {
        /// The turn of the call, from 1.
        turn: u32,
        /// The position of the call in its turn, from 1.
        index: u32,
    },
    /// A run that answers a call of an agent's file before the agent's first turn.
    CallBefore {
        /// The first turn of an agent that took the run over; `None` for the first agent of a run.
        turn: Option<u32>,
        /// The position of the call, from 1.
        index: u32,
    },
}

impl ChildId {
    /// Parses an id.
    ///
    /// # Errors
    /// Returns [`BadId`] with the rule that the text breaks.
    pub fn new(text: impl AsRef<str>) -> Result<Self, BadId> {
        text.as_ref().parse()
    }

    /// Returns the id of the run for this attempt at a step, both from 1.
    #[must_use]
    pub fn for_step(step: u32, attempt: u32) -> Self {
        Self::Task(TaskId::of(step, attempt))
    }

    /// Returns the task of the run; `None` for a run that works on no step.
    #[must_use]
    pub fn task(&self) -> Option<&TaskId> {
        let Self::Task(task) = self else { return None };
        Some(task)
    }

    /// Returns true for a run that answers a call of an agent's file.
    #[must_use]
    pub fn is_before(&self) -> bool {
        matches!(self, Self::CallBefore { .. })
    }

    /// Splits an id and the dot after it from the beginning of a text.
    pub(crate) fn split_from(text: &str) -> Option<(Self, &str)> {
        let (first, rest) = text.split_once('.')?;
        let (second, rest) = rest.split_once('.')?;
        let index_of = |call: &str| call.strip_prefix('c').and_then(parse_count);
        if first == BEFORE {
            return Some((Self::CallBefore { turn: None, index: index_of(second)? }, rest));
        }
        if first == REVIEW {
            return Some((Self::Review(parse_count(second)?), rest));
        }
        if let Some(step) = first.strip_prefix('s').and_then(parse_count) {
            return Some((Self::Task(TaskId::of(step, parse_count(second)?)), rest));
        }
        let turn = first.strip_prefix('t').and_then(parse_count)?;
        if second == BEFORE {
            let (third, rest) = rest.split_once('.')?;
            return Some((Self::CallBefore { turn: Some(turn), index: index_of(third)? }, rest));
        }
        Some((Self::Call { turn, index: index_of(second)? }, rest))
    }
}

impl fmt::Display for ChildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(f, "{task}"),
            Self::Review(number) => write!(f, "{REVIEW}.{number}"),
            Self::Call { turn, index } => write!(f, "t{turn}.c{index}"),
            Self::CallBefore { turn: None, index } => write!(f, "{BEFORE}.c{index}"),
            Self::CallBefore { turn: Some(turn), index } => write!(f, "t{turn}.{BEFORE}.c{index}"),
        }
    }
}

impl FromStr for ChildId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let with_dot = format!("{text}.");
        let parts = Self::split_from(&with_dot).filter(|(_, rest)| rest.is_empty());
        let rule = "a task id, t and a number or before, .c and a number, or review. and a number";
        parts.map(|(child, _)| child).ok_or(BadId { what: "child id", rule })
    }
}

impl From<TaskId> for ChildId {
    fn from(task: TaskId) -> Self {
        Self::Task(task)
    }
}

impl Serialize for ChildId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChildId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
