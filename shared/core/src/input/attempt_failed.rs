//! Failed attempts at a model call.

use serde::{Deserialize, Serialize};

use crate::budget::Usage;
use crate::error_code::Failure;
use crate::id::MessageId;

/// Failed attempts at a model call since the last record of a failed attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptFailed {
    /// The message of the model call.
    pub message: MessageId,
    /// The number of the last attempt, from 1.
    pub attempt: u32,
    /// The failure of the last of these attempts.
    pub failure: Failure,
    /// The known cost of the last attempt and of earlier attempts without a record.
    pub usage: Usage,
    /// True if the process stood still during the last attempt, which then uses up no retry.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub process_stalled: bool,
    /// True if the standstill counts against the call like a crash (in older records false).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts_as_crash: bool,
    /// Failed attempts of the calling model since the last record of a failed attempt.
    #[serde(default = "one_attempt", skip_serializing_if = "is_one_attempt")]
    pub failed_attempts: u32,
    /// True if no attempt had sent text, so that no text is void.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// The earliest time of the next attempt, Unix milliseconds, if the run waits for the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<i64>,
    /// The time of the first of the consecutive temporary failures, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since_ms: Option<i64>,
}

/// Returns the count for records from before counts.
fn one_attempt() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_one_attempt(failed_attempts: &u32) -> bool {
    *failed_attempts == 1
}
