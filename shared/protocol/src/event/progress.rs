//! The public form of tool output.

use crate::call_progress::CallProgress;
use serde::Serialize;

/// A piece of what a tool says while it works, in whole lines. It is in no history: who comes late is told
/// the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicCallProgress<'a> {
    /// The way to the run below whose call it is; absent for the run's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The id of the call, as in its `call.requested`.
    pub call: String,
    /// When the call was made, Unix milliseconds. What a later one says replaces all of an earlier one: the
    /// call was made again.
    pub began_at_ms: i64,
    /// Where it begins in what the call says, in bytes of UTF-8. Pieces may be missing before it.
    pub offset: u64,
    /// The lines, each with its end.
    pub text: &'a str,
    /// Whether the call said more than is shown: nothing follows before its result.
    pub cut: bool,
    /// When it was said, Unix milliseconds.
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
