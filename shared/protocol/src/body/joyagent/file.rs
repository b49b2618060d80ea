//! Responses about files.

use std::collections::BTreeMap;

use djinn_core::file::ProductFile;
use serde::Serialize;

use crate::link::SessionLinks;

/// The location of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileLocationBody {
    /// The URL for a download.
    pub oss_url: String,
    /// The same as `ossUrl`.
    pub download_url: String,
    /// The URL for display in a browser.
    pub domain_url: String,
    /// The label in the request; null if there was none.
    pub request_id: Option<String>,
    /// The file's name, unique in the session.
    pub file_name: String,
    /// The file's size in bytes.
    pub file_size: u64,
    /// A description of the content; may be empty.
    pub description: String,
    /// True if the file is for agents only.
    pub is_internal_file: bool,
}

/// One page of a session's files.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileListBody {
    /// The files of the page.
    pub results: Vec<FileLocationBody>,
    /// The total number of the session's files.
    pub total_size: usize,
}

/// The location of a new file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UploadBody {
    /// The URL for a download.
    pub oss_url: String,
    /// The same as `ossUrl`.
    pub download_url: String,
    /// The URL for display in a browser.
    pub domain_url: String,
    /// The file's name, unique in the session.
    pub file_name: String,
    /// The file's size in bytes.
    pub file_size: u64,
}

/// The upload target of an announced file, and the file's later location.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UploadTargetBody {
    /// The file's later location.
    #[serde(flatten)]
    pub location: UploadBody,
    /// The URL for one upload of the bytes.
    pub upload_url: String,
    /// The method of the upload request: always `PUT`.
    pub method: &'static str,
    /// The required headers of the upload request.
    pub headers: BTreeMap<String, String>,
    /// The validity of the URL in seconds.
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
