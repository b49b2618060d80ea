//! Attempts at a model call that failed.

use serde::{Deserialize, Serialize};

use crate::budget::Usage;
use crate::error_code::Failure;
use crate::id::MessageId;

/// Attempts at a model call that failed, up to and with the last of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptFailed {
    /// The message it was writing.
    pub message: MessageId,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The failure of the last of these attempts.
    pub failure: Failure,
    /// What it cost, as far as that is known, with those before it that are no record's.
    pub usage: Usage,
    /// Whether its process stood still meanwhile: then the last uses up no retry.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub process_stalled: bool,
    /// Whether that counts against the call as a death of its driver does. In older records it does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts_as_crash: bool,
    /// How many attempts of the model that makes the call failed since the last record of one.
    #[serde(default = "one_attempt", skip_serializing_if = "is_one_attempt")]
    pub failed_attempts: u32,
    /// Whether none of them had sent text: there is nothing to take back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// The moment before which the call is not made again, Unix milliseconds, if its provider is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at_ms: Option<i64>,
    /// The moment of the first of the failures in a row that may pass, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since_ms: Option<i64>,
}

/// In records of before there were counts.
fn one_attempt() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_one_attempt(failed_attempts: &u32) -> bool {
    *failed_attempts == 1
}
