//! The public form of files.

use djinn_core::file::ProductFile;
use serde::Serialize;

use crate::link::SessionLinks;

/// A file of a session, with URLs to open the file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicFile<'a> {
    /// The file's name, unique in the session.
    pub name: &'a str,
    /// A description by the file's author, in a sentence; may be empty.
    pub description: &'a str,
    /// The file's size in bytes.
    pub size: u64,
    /// True if the file is for agents only: do not offer the file to users.
    pub internal: bool,
    /// The media type of the content.
    pub media_type: &'a str,
    /// For a table, true if the table has rows below the header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_rows: Option<bool>,
    /// The URL for display in a browser.
    pub preview_url: String,
    /// The URL for a download.
    pub download_url: String,
}

impl<'a> PublicFile<'a> {
    /// Returns the public form of a file, with the links of its session.
    #[must_use]
    pub fn new(file: &'a ProductFile, links: &SessionLinks) -> Self {
        Self {
            name: file.name.as_str(),
            description: &file.description,
            size: file.size,
            internal: file.internal,
            media_type: &file.media_type,
            has_rows: file.has_rows,
            preview_url: links.preview_url(file),
            download_url: links.download_url(file),
        }
    }

    /// Returns the public form of several files, in order.
    pub fn list(
        files: impl IntoIterator<Item = &'a ProductFile>,
        links: &SessionLinks,
    ) -> Vec<Self> {
        files.into_iter().map(|file| Self::new(file, links)).collect()
    }
}
