//! Responses about files, in the form of JoyAgent's clients.

use std::collections::BTreeMap;

use djinn_core::file::ProductFile;
use serde::Serialize;

use crate::link::SessionLinks;

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileLocationBody {
    /// Where it is saved from.
    pub oss_url: String,
    /// The same as `ossUrl`.
    pub download_url: String,
    /// Where a browser shows it.
    pub domain_url: String,
    /// The label under which it was asked for; null if there was none.
    pub request_id: Option<String>,
    /// Its name, unique in the session.
    pub file_name: String,
    /// Its size in bytes.
    pub file_size: u64,
    /// What it holds; may be empty.
    pub description: String,
    /// Whether it is for the agents alone.
    pub is_internal_file: bool,
}

/// One page of a session's files.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileListBody {
    /// The files of the page.
    pub results: Vec<FileLocationBody>,
    /// How many the session has in all.
    pub total_size: usize,
}

/// Where a file is that was just added.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UploadBody {
    /// Where it is saved from.
    pub oss_url: String,
    /// The same as `ossUrl`.
    pub download_url: String,
    /// Where a browser shows it.
    pub domain_url: String,
    /// Its name, unique in the session.
    pub file_name: String,
    /// Its size in bytes.
    pub file_size: u64,
}

/// Where to send an announced file, and where it will be.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UploadTargetBody {
    /// Where it will be.
    #[serde(flatten)]
    pub location: UploadBody,
    /// Where its bytes are sent, once.
    pub upload_url: String,
    /// The method of that request: always `PUT`.
    pub method: &'static str,
    /// The headers that the request must have.
    pub headers: BTreeMap<String, String>,
    /// How long the URL is good, in seconds.
    pub expires_in_seconds: u64,
}

impl UploadBody {
    /// Creates the response with the URLs of a new or expected file.
    #[must_use]
    pub fn new(file: &ProductFile, links: &SessionLinks) -> Self {
        let download = links.download_url(file);
        Self {
            oss_url: download.clone(),
            download_url: download,
            domain_url: links.preview_url(file),
            file_name: file.name.to_string(),
            file_size: file.size,
        }
    }
}

impl FileLocationBody {
    /// Creates the response with a file's URLs, for the user's request label.
    #[must_use]
    pub fn new(file: &ProductFile, links: &SessionLinks, request: Option<&str>) -> Self {
        let download = links.download_url(file);
        Self {
            oss_url: download.clone(),
            download_url: download,
            domain_url: links.preview_url(file),
            request_id: request.map(ToOwned::to_owned),
            file_name: file.name.to_string(),
            file_size: file.size,
            description: file.description.clone(),
            is_internal_file: file.internal,
        }
    }
}
