//! What a run is told because of people, and what makes it ask them.

use serde::{Deserialize, Serialize};

use crate::feedback::Ask;
use crate::id::{CallId, MessageId, TaskId, UserId};
use crate::plan::StepEdit;

/// What was interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interrupted {
    /// A tool call.
    Call(CallId),
    /// The model call that was to write this message.
    Message(MessageId),
}

/// What a task asks people, all of it: newer ones of the same task replace older ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskAsks {
    /// The task.
    pub task: TaskId,
    /// Which state of it this is, from 1.
    pub version: u32,
    /// What has not been answered.
    pub asks: Vec<Ask>,
    /// What the model said before it asked.
    pub reasoning: String,
    /// How many answers it had had by then.
    pub answers: u32,
    /// Whether it can do nothing else before it is answered.
    pub paused: bool,
}

/// What a person tells a run at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Names this message, so that a repeat is ignored.
    pub id: String,
    /// Who.
    pub by: UserId,
    /// What, at most [`crate::feedback::MAX_WORDS`] bytes.
    pub text: String,
}

/// A plan as a person wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEdited {
    /// Names this change, so that a repeat is ignored.
    pub id: String,
    /// Who.
    pub by: UserId,
    /// The version of the plan that was changed. Another one is left as it is.
    pub version: u32,
    /// Its title; empty to keep the one it has.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Its steps, in their order. Those that have begun stay, whether or not they are among them.
    pub steps: Vec<StepEdit>,
}
