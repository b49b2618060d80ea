//! Steps of a plan, and tasks: attempts at steps.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::bad_id::BadId;
use crate::id::count::parse_count;

/// The id of a step in its run: `s3`. A plan never reuses the id of a removed step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepId(pub u32);

/// The id of one attempt at a step: `s3.1` is the first attempt at step 3. A new attempt is a new task with
/// its own journal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskId {
    step: StepId,
    attempt: u32,
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

impl FromStr for StepId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let number = text.strip_prefix('s').and_then(parse_count);
        number.map(Self).ok_or(BadId { what: "step id", rule: "s and a number" })
    }
}

impl TaskId {
    /// Returns the id of attempt `attempt` (from 1) at step `step` (from 1).
    #[must_use]
    pub fn of(step: u32, attempt: u32) -> Self {
        Self { step: StepId(step), attempt }
    }

    /// Parses an id.
    ///
    /// # Errors
    /// Returns [`BadId`] with the rule that the text breaks.
    pub fn new(text: impl AsRef<str>) -> Result<Self, BadId> {
        text.as_ref().parse()
    }

    /// Parses an id; `None` if the text is not an id.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (step, attempt) = text.strip_prefix('s')?.split_once('.')?;
        Some(Self::of(parse_count(step)?, parse_count(attempt)?))
    }

    /// Returns the step of this attempt.
    #[must_use]
    pub fn step_id(&self) -> StepId {
        self.step
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.step, self.attempt)
    }
}

impl FromStr for TaskId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        Self::parse(text)
            .ok_or(BadId { what: "task id", rule: "s and a number, a dot and a number" })
    }
}

impl TryFrom<String> for TaskId {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl From<TaskId> for String {
    fn from(task: TaskId) -> Self {
        task.to_string()
    }
}
