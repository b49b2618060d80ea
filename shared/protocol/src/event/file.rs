//! The public form of files.

use djinn_core::file::ProductFile;
use serde::Serialize;

use crate::link::SessionLinks;

/// A file of a session, with where to open it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicFile<'a> {
    /// Its name, unique in the session.
    pub name: &'a str,
    /// What it holds, in a sentence of who wrote it; may be empty.
    pub description: &'a str,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is for the agents alone: a client does not offer it.
    pub internal: bool,
    /// The type by which it is served.
    pub media_type: &'a str,
    /// Of a table, whether it has rows besides its header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_rows: Option<bool>,
    /// Where a browser shows it.
    pub preview_url: String,
    /// Where it is saved from.
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
