//! What a run is told because of people, and what makes it ask them.

use serde::{Deserialize, Serialize};

use crate::human::HumanRequest;
use crate::id::{CallId, ChildId, MessageId, UserId};
use crate::plan::StepEdit;

/// The call that an interrupt stopped, of a tool or of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptTarget {
    /// The tool call of this id.
    Call(CallId),
    /// The model call that was to write this message.
    Message(MessageId),
}

/// What a child asks people, all of it: newer ones of the same child replace older ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildRequest {
    /// The child whose agent asks.
    #[serde(alias = "task")]
    pub child: ChildId,
    /// Which state of it this is, from 1.
    pub version: u32,
    /// What has not been answered.
    pub requests: Vec<HumanRequest>,
    /// What the model said before it asked.
    pub reasoning: String,
    /// How many answers it had had by then.
    pub response_count: u32,
    /// Whether it can do nothing else before it is answered.
    pub paused: bool,
}

/// What a person tells a run at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Names this message, so that a repeat is ignored.
    pub id: String,
    /// The user who wrote the message.
    pub by: UserId,
    /// What, at most [`crate::human::MAX_RESPONSE_BYTES`] bytes.
    pub text: String,
}

/// A plan as a person wants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEdit {
    /// Names this change, so that a repeat is ignored.
    pub id: String,
    /// The user who changed the plan.
    pub by: UserId,
    /// The version of the plan that was changed. Another one is left as it is.
    pub version: u32,
    /// Its title; empty to keep the one it has.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Its steps, in their order. Those that have begun stay, whether or not they are among them.
    pub steps: Vec<StepEdit>,
}
