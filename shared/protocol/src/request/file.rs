//! Requests about files, in the form of JoyAgent's clients.

use serde::Deserialize;

use super::value::{WholeNumber, optional_text, required_text};

/// The announcement of a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AnnounceRequest {
    /// The session, or a request of it.
    #[serde(deserialize_with = "required_text")]
    pub request_id: String,
    /// The file's name, 1 to 255 bytes, without a path.
    #[serde(deserialize_with = "required_text")]
    pub file_name: String,
    /// Its size in bytes, 1 to 5 368 709 120.
    pub file_size: WholeNumber,
    /// What it holds, in a sentence.
    #[serde(default, deserialize_with = "optional_text")]
    pub description: Option<String>,
    /// Whether it is for the agents alone.
    pub is_internal_file: Option<bool>,
}

/// A text that becomes a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UploadRequest {
    /// The session, or a request of it.
    #[serde(deserialize_with = "required_text")]
    pub request_id: String,
    /// The file's name, 1 to 255 bytes, without a path.
    #[serde(deserialize_with = "required_text")]
    pub file_name: String,
    /// The text of the file.
    pub content: Option<String>,
    /// What it holds, in a sentence.
    #[serde(default, deserialize_with = "optional_text")]
    pub description: Option<String>,
    /// Whether it is for the agents alone.
    pub is_internal_file: Option<bool>,
}

/// Which file is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileRequest {
    /// The session, or a request of it.
    #[serde(deserialize_with = "required_text")]
    pub request_id: String,
    /// The name of the file.
    #[serde(deserialize_with = "required_text")]
    pub file_name: String,
}

/// Which files are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileListRequest {
    /// The session, or a request of it.
    #[serde(deserialize_with = "required_text")]
    pub request_id: String,
    /// Which page, counted from 1.
    pub page: Option<WholeNumber>,
    /// Files on a page.
    pub page_size: Option<WholeNumber>,
}
