//! The result of a review, as clients see it.

use serde::{Deserialize, Serialize};

use super::Event;
use crate::error_code::Failure;
use crate::id::{ChildId, MessageId};

/// The judgement of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewResult {
    /// The child that judged the answer.
    pub child: ChildId,
    /// The number of the review, from 1.
    pub round: u32,
    /// True if the answer can be final.
    pub accepted: bool,
    /// The faults of the answer, most serious first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// The parts of the question without an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The message with the answer; `None` if no model wrote the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The failure of the reviewer. The answer is then not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// The reason why the text of a message is void.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResetReason {
    /// An attempt at the message failed, and is repeated.
    #[default]
    Failure,
    /// A reviewer did not accept the complete message as the answer; another message follows.
    Review,
}

impl ResetReason {
    /// Returns true for a failed attempt, the reason in old records.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        *self == Self::Failure
    }
}

impl Event {
    /// Returns the event of a failed attempt at a message, by its number.
    #[must_use]
    pub fn attempt_failed(message: MessageId, attempt: u32, failure: Failure) -> Self {
        let reason = ResetReason::Failure;
        Self::MessageReset { message, reason, attempt: Some(attempt), failure: Some(failure) }
    }

    /// Returns the event of a complete message that a reviewer did not accept as the answer.
    #[must_use]
    pub fn answer_rejected(message: MessageId) -> Self {
        Self::MessageReset { message, reason: ResetReason::Review, attempt: None, failure: None }
    }
}
