//! What the folders of a source had when they could last be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_runtime::port::text_folder::{FolderText, TextFolder, TextFolderError};
use futures::future::join_all;

/// What was read of each folder that could be, by its path.
#[derive(Debug, Default)]
pub(crate) struct KnownFolders(BTreeMap<String, Vec<FolderText>>);

/// A folder's texts as they are now, or as they last were where it cannot be read.
pub(crate) struct ReadFolder {
    /// The folder, as the setting names it.
    pub(crate) path: String,
    pub(crate) texts: Vec<FolderText>,
    /// Why they are not those of now.
    pub(crate) problem: Option<String>,
}

impl KnownFolders {
    /// Takes what was read of a folder.
    pub(crate) fn update_folder(
        &mut self,
        path: String,
        read: Result<Vec<FolderText>, TextFolderError>,
    ) -> ReadFolder {
        match read {
            Ok(texts) => {
                self.0.insert(path.clone(), texts.clone());
                ReadFolder { path, texts, problem: None }
            }
            Err(error) => {
                let texts = self.0.get(&path).cloned().unwrap_or_default();
                ReadFolder { path, texts, problem: Some(error.to_string()) }
            }
        }
    }
}

/// Reads all folders at once: what each has now, with its path.
pub(crate) async fn read_folders(
    folders: &[Arc<dyn TextFolder>],
) -> Vec<(String, Result<Vec<FolderText>, TextFolderError>)> {
    let read = folders.iter().map(async |folder| (folder.path(), folder.read_texts().await));
    join_all(read).await
}
