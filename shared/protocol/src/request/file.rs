//! Requests about files.

use serde::Deserialize;

use super::value::{WholeNumber, optional_text, required_text};

/// A new file of a session: its text as `content`, or its `size` for a later upload of the bytes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewFileRequest {
    /// The file's name, 1 to 255 bytes, without a path.
    #[serde(deserialize_with = "required_text")]
    pub name: String,
    /// The text of the file.
    pub content: Option<String>,
    /// The file's size in bytes, 1 to 5 368 709 120. The response contains a URL for the upload.
    pub size: Option<WholeNumber>,
    /// A description of the content, in a sentence.
    #[serde(default, deserialize_with = "optional_text")]
    pub description: Option<String>,
    /// True if the file is for agents only and not offered to users (default false).
    pub internal: Option<bool>,
}
