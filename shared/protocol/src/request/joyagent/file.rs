//! Requests about files.

use serde::Deserialize;

use crate::request::value::{WholeNumber, optional_text, required_text};

/// The announcement of a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AnnounceRequest {
    /// The session, or one of the session's requests.
    #[serde(deserialize_with = "required_text")]
    pub request_id: String,
    /// The file's name, 1 to 255 bytes, without a path.
    #[serde(deserialize_with = "required_text")]
    pub file_name: String,
    /// The file's size in bytes, 1 to 5 368 709 120.
    pub file_size: WholeNumber,
    /// A description of the content, in a sentence.
    #[serde(default, deserialize_with = "optional_text")]
    pub description: Option<String>,
    /// True if the file is for agents only and not offered to users (default false).
    pub is_internal_file: Option<bool>,
}

/// A text that becomes a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UploadRequest {
    /// The session, or one of the session's requests.
    #[serde(deserialize_with = "required_text")]
    pub request_id: String,
    /// The file's name, 1 to 255 bytes, without a path.
    #[serde(deserialize_with = "required_text")]
    pub file_name: String,
    /// The text of the file.
    pub content: Option<String>,
    /// A description of the content, in a sentence.
    #[serde(default, deserialize_with = "optional_text")]
    pub description: Option<String>,
    /// True if the file is for agents only and not offered to users (default false).
    pub is_internal_file: Option<bool>,
}

/// The name of a session's file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileRequest {
    /// The session, or one of the session's requests.
    #[serde(deserialize_with = "required_text")]
    pub request_id: String,
    /// The name of the file.
    #[serde(deserialize_with = "required_text")]
    pub file_name: String,
}

/// A page of a session's files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileListRequest {
    /// The session, or one of the session's requests.
    #[serde(deserialize_with = "required_text")]
    pub request_id: String,
    /// The number of the page, from 1.
    pub page: Option<WholeNumber>,
    /// The number of files on a page.
    pub page_size: Option<WholeNumber>,
}
