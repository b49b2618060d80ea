//! The public form of unfinished messages.

use crate::preview::{Preview, TextKind};
use serde::Serialize;

/// A piece of an unfinished message, not part of the history. A client that connects later receives the
/// complete message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicPreview<'a> {
    /// The path of the child run with the message; absent for the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The id of the message.
    pub message: String,
    /// The number of the attempt, from 1. A piece of a later attempt replaces all pieces of earlier attempts.
    pub attempt: u32,
    /// The kind of text: message text or reasoning.
    pub kind: TextKind,
    /// The start in the text, in bytes of UTF-8.
    pub offset: u64,
    /// The text of the piece.
    pub text: &'a str,
    /// The time of the piece, Unix milliseconds.
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
