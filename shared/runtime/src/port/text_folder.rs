//! Texts that a deployment keeps beside its code and changes while it runs, such as its files of agents,
//! its prompts, and the settings of its models.

mod manifest;

use std::sync::Arc;

pub use manifest::{
    ListedText, MANIFEST, MAX_LISTED, MAX_MANIFEST, ManifestError, NameDepth, list_texts,
    parse_manifest, write_manifest,
};

use super::tool::BoxFuture;

/// The most bytes of a text.
pub const MAX_TEXT: usize = 64 * 1024;

/// A text of a folder, or what is wrong with it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderText {
    /// Its name below the folder: `pricing.md`, `en/pricing.md`, `en/react/system.md`.
    pub name: String,
    /// All of it, or the rest of a sentence that begins with its path.
    pub text: Result<Arc<str>, String>,
}

impl FolderText {
    /// The path that sentences about it begin with, in the folder of this path.
    #[must_use]
    pub fn path_in(&self, folder: &str) -> String {
        format!("{}/{}", folder.trim_end_matches('/'), self.name)
    }
}

/// Why a folder cannot be read at all: a sentence for clients too, the same as long as nothing changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TextFolderError(pub String);

/// A folder of texts: on the disk of a function, or under a prefix of its bucket, of which it needs
/// no more than to read. Needs `s3:GetObject` under `config/`.
pub trait TextFolder: Send + Sync {
    /// The folder, as the setting names it: what paths of its texts begin with.
    fn path(&self) -> String;

    /// Its texts at the start of a process. `None` for a folder that is not asked by then.
    fn read_at_start(&self) -> Option<Result<Vec<FolderText>, TextFolderError>> {
        None
    }

    /// Its texts as they are now, in an order that stays. One whose text cannot be had is among them.
    fn read_texts(&self) -> BoxFuture<'_, Result<Vec<FolderText>, TextFolderError>>;
}
