//! The last readable state of a source's folders.

use std::collections::BTreeMap;
use std::sync::Arc;

use djinn_runtime::port::text_folder::{FolderText, TextFolder, TextFolderError};
use futures::future::join_all;

/// The texts of each readable folder, by path.
#[derive(Debug, Default)]
pub(crate) struct KnownFolders(BTreeMap<String, Vec<FolderText>>);

/// A folder's current texts, or the last texts of an unreadable folder.
pub(crate) struct ReadFolder {
    /// The folder's path in the setting.
    pub(crate) path: String,
    pub(crate) texts: Vec<FolderText>,
    /// The reason for outdated texts, if any.
    pub(crate) problem: Option<String>,
}

impl KnownFolders {
    /// Records the result of reading a folder.
    pub(crate) fn update_folder(
        &mut self,
        path: String,
        result: Result<Vec<FolderText>, TextFolderError>,
    ) -> ReadFolder {
        match result {
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

/// Reads all folders concurrently. Returns each result with the path.
pub(crate) async fn read_folders(
    folders: &[Arc<dyn TextFolder>],
) -> Vec<(String, Result<Vec<FolderText>, TextFolderError>)> {
    let readings = folders.iter().map(async |folder| (folder.path(), folder.read_texts().await));
    join_all(readings).await
}
