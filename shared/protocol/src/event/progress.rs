//! The public form of tool output.

use crate::call_progress::CallProgress;
use serde::Serialize;

/// A piece of a running tool's output, in whole lines, not part of the history. A client that connects later
/// receives the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicCallProgress<'a> {
    /// The path of the child run with the call; absent for the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The id of the call, as in its `call.requested`.
    pub call: String,
    /// The start time of the call, Unix milliseconds. Output with a later start replaces all earlier output,
    /// because the call was repeated.
    pub began_at_ms: i64,
    /// The start in the call's output, in bytes of UTF-8. Earlier pieces may be missing.
    pub offset: u64,
    /// The lines, each with a line break.
    pub text: &'a str,
    /// True if the rest of the output is not shown; the result follows.
    pub cut: bool,
    /// The time of the piece, Unix milliseconds.
    pub at_ms: i64,
}

impl<'a> PublicCallProgress<'a> {
    /// Returns the public form of a piece.
    #[must_use]
    pub fn new(progress: &'a CallProgress) -> Self {
        Self {
            path: (!progress.path.is_root()).then(|| progress.path.to_string()),
            call: progress.call.to_string(),
            began_at_ms: progress.began_at_ms,
            offset: progress.offset,
            text: &progress.text,
            cut: progress.is_cut,
            at_ms: progress.at_ms,
        }
    }
}
