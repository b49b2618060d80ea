//! The public form of unfinished messages.

use crate::preview::{Preview, TextKind};
use serde::Serialize;

/// A piece of a message that a model is writing. It is in no history: who comes late gets the message
/// whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicPreview<'a> {
    /// The way to the run below whose message it is; absent for the run's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The id of the message.
    pub message: String,
    /// The attempt at it, from 1: a piece of a later attempt replaces all of an earlier one.
    pub attempt: u32,
    /// Whether it is of the text or of the model's thoughts.
    pub kind: TextKind,
    /// Where it begins in its text, in bytes of UTF-8.
    pub offset: u64,
    /// The text of the piece.
    pub text: &'a str,
    /// When it was written, Unix milliseconds.
    pub at_ms: i64,
}

impl<'a> PublicPreview<'a> {
    /// Returns the public form of a piece.
    #[must_use]
    pub fn new(preview: &'a Preview) -> Self {
        Self {
            path: (!preview.path.is_root()).then(|| preview.path.to_string()),
            message: preview.message.to_string(),
            attempt: preview.attempt,
            kind: preview.kind,
            offset: preview.offset,
            text: &preview.text,
            at_ms: preview.at_ms,
        }
    }
}
