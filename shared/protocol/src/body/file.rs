//! Responses about files.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::event::PublicFile;

/// One page of a session's files.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionFilesBody<'a> {
    /// The files of the page, by name.
    pub files: Vec<PublicFile<'a>>,
    /// The cursor of the next page; null on the last page.
    pub next: Option<String>,
}

/// A new file of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewFileBody<'a> {
    /// The file.
    pub file: PublicFile<'a>,
    /// The upload of the file's bytes; absent if the file is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upload: Option<FileUpload>,
}

/// The request that uploads the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileUpload {
    /// The URL for one upload of the bytes.
    pub url: String,
    /// The method of the request: always `PUT`.
    pub method: &'static str,
    /// The required headers of the request.
    pub headers: BTreeMap<String, String>,
    /// The validity of the URL in seconds.
    pub expires_in_s: u64,
}
