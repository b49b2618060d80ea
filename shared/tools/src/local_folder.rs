//! A folder of texts on the disk of a function.

use std::io;
use std::path::{Path, PathBuf};

use djinn_runtime::port::text_folder::{FolderText, TextFolder, TextFolderError};
use djinn_runtime::port::tool::BoxFuture;

/// The most texts of one directory. Of more, those that come last by name are left out.
const MAX_FILES: usize = 200;

/// What the names of texts begin with, by the directory that they are in.
const PLACES: [&str; 3] = ["", "en/", "zh/"];

/// The Markdown files of a folder, and of `en` and `zh` in it.
#[derive(Debug, Clone)]
pub struct LocalFolder(PathBuf);

impl LocalFolder {
    /// The folder of this path. It is not looked at by this.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn read_now(&self) -> Result<Vec<FolderText>, TextFolderError> {
        let mut texts = Vec::new();
        for place in PLACES {
            let folder = self.0.join(place);
            if place.is_empty() || folder.is_dir() {
                read_directory(&folder, place, &mut texts).map_err(|error| {
                    TextFolderError(format!("the folder {} cannot be read: {error}", self.path()))
                })?;
            }
        }
        Ok(texts)
    }
}

impl TextFolder for LocalFolder {
    fn path(&self) -> String {
        self.0.display().to_string()
    }

    fn read_at_start(&self) -> Option<Result<Vec<FolderText>, TextFolderError>> {
        Some(self.read_now())
    }

    fn read_texts(&self) -> BoxFuture<'_, Result<Vec<FolderText>, TextFolderError>> {
        let folder = self.clone();
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || folder.read_now()).await;
            read.unwrap_or_else(|error| Err(TextFolderError(error.to_string())))
        })
    }
}

fn read_directory(folder: &Path, place: &str, texts: &mut Vec<FolderText>) -> io::Result<()> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && path.extension().is_some_and(|ending| ending == "md") {
            paths.push(path);
        }
    }
    paths.sort();
    if let Some(path) = paths.get(MAX_FILES) {
        let first = path.display().to_string();
        tracing::warn!(first, most = MAX_FILES, "a folder has more files than are read");
    }
    for path in paths.into_iter().take(MAX_FILES) {
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text.into()),
            // One that is being replaced is there the next time.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err("is not UTF-8".to_owned())
            }
            Err(error) => Err(format!("cannot be read: {error}")),
        };
        texts.push(FolderText { name: format!("{place}{file_name}"), text });
    }
    Ok(())
}
