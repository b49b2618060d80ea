//! A deployment's configuration folder: the files beside its code that can change at run time.

mod layout;
mod manifest;

use std::sync::Arc;

pub use layout::{
    AGENTS, CONNECTIONS, FOLDERS, FolderLayout, MODES, PROMPTS, README, SERVERS, SERVERS_LOCK,
    TABLES, TEMPLATES, TOOLS, WORKFLOWS, check_name, is_data, split_language,
};
pub use manifest::{
    ListedText, MANIFEST, MAX_LISTED, MAX_MANIFEST, ManifestError, list_texts, parse_manifest,
    write_manifest,
};

use super::tool::BoxFuture;

/// The maximum size of a text besides the [`SERVERS_LOCK`], in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// The maximum size of the [`SERVERS_LOCK`], and of a file with certificates, in bytes.
pub const MAX_LOCK: usize = 2 * 1024 * 1024;

/// The maximum size of a file with data, in bytes.
pub const MAX_DATA: usize = 20 * 1024 * 1024;

/// Returns the maximum size of the text with this name, in bytes.
#[must_use]
pub fn max_text(name: &str) -> usize {
    // The certificate authorities of all regions of AWS have 165 KB.
    if name == SERVERS_LOCK || name.starts_with("connections/") { MAX_LOCK } else { MAX_TEXT }
}

/// A text of a folder, or the current problem with the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderText {
    /// The name below the configuration folder: `djinn.toml`, `agents/pricing.md`, `prompts/en/react/system.md`.
    pub name: String,
    /// The whole text, or the problem: the rest of a sentence that begins with the text's path. Of a file with data,
    /// the text is the SHA-256 of its content, in lower-case hex.
    pub text: Result<Arc<str>, String>,
}

impl FolderText {
    /// Returns the text's path for sentences, below the path of the folder.
    #[must_use]
    pub fn path_in(&self, folder: &str) -> String {
        format!("{}/{}", folder.trim_end_matches('/'), self.name)
    }
}

/// The error for an unreadable folder: a sentence for clients too, the same until the problem changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TextFolderError(pub String);

/// A configuration folder on a function's disk, or under a prefix of the deployment's bucket; read-only. The
/// bucket needs `s3:GetObject` under `config/`.
pub trait TextFolder: Send + Sync {
    /// Returns the folder as its setting names it: the prefix of the texts' paths.
    fn path(&self) -> String;

    /// Returns the texts at the start of a process. `None` for a folder that is not read at the start.
    fn read_at_start(&self) -> Option<Result<Vec<FolderText>, TextFolderError>> {
        None
    }

    /// Returns the current texts by name, unreadable texts included.
    fn read_texts(&self) -> BoxFuture<'_, Result<Vec<FolderText>, TextFolderError>>;

    /// Returns the content of a file with data, at most [`MAX_DATA`] bytes.
    fn read_data<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<u8>, TextFolderError>>;
}
