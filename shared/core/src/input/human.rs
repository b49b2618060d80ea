//! Inputs from users, and inputs that cause human requests.

use serde::{Deserialize, Serialize};

use crate::human::HumanRequest;
use crate::id::{CallId, ChildId, MessageId, UserId};
use crate::plan::StepEdit;

/// The interrupted call, of a tool or of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptTarget {
    /// The tool call with this id.
    Call(CallId),
    /// The model call for this message.
    Message(MessageId),
}

/// All open human requests of a child. A newer version replaces an older version of the same child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildRequest {
    /// The child with the requests.
    #[serde(alias = "task")]
    pub child: ChildId,
    /// The version of the child's requests, from 1.
    pub version: u32,
    /// The requests without a response.
    pub requests: Vec<HumanRequest>,
    /// The model's text before the requests.
    pub reasoning: String,
    /// The number of responses that the child had received by then.
    pub response_count: u32,
    /// True if the child can do no other work before a response.
    pub paused: bool,
}

/// A user's message to a run at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The id of this message. A repeated id is ignored.
    pub id: String,
    /// The user who wrote the message.
    pub by: UserId,
    /// The text, at most [`crate::human::MAX_RESPONSE_BYTES`] bytes.
    pub text: String,
}

/// A user's edit of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEdit {
    /// The id of this change. A repeated id is ignored.
    pub id: String,
    /// The user who changed the plan.
    pub by: UserId,
    /// The version of the edited plan. A plan of another version is unchanged.
    pub version: u32,
    /// The new title; empty to keep the current title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The steps in order. Steps that have begun stay, even if the list omits them.
    pub steps: Vec<StepEdit>,
}
