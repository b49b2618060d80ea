//! Texts on a function's disk: a folder, or a single text.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use djinn_runtime::port::text_folder::{
    FolderText, MAX_TEXT, MISSING_TEXT, NameDepth, TextFolder, TextFolderError,
};
use djinn_runtime::port::tool::BoxFuture;

/// Maximum number of texts in a directory; texts last by name are left out.
const MAX_FILES: usize = 200;

/// Maximum number of directories in a folder; directories last by name are left out.
const MAX_PLACES: usize = 64;

/// The Markdown files of a folder.
#[derive(Debug, Clone)]
pub struct LocalFolder {
    path: PathBuf,
    depth: NameDepth,
}

impl LocalFolder {
    /// Creates a folder at a path with `depth` of file names, without reading the disk.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, depth: NameDepth) -> Self {
        Self { path: path.into(), depth }
    }

    fn read_now(&self) -> Result<Vec<FolderText>, TextFolderError> {
        let result = self.list_places().and_then(|places| {
            let mut texts = Vec::new();
            for place in places {
                read_directory(&self.path.join(&place), &place, &mut texts)?;
            }
            Ok(texts)
        });
        result.map_err(|error| {
            TextFolderError(format!("the folder {} cannot be read: {error}", self.path()))
        })
    }

    /// Returns the prefixes of text names, a prefix for each directory.
    fn list_places(&self) -> io::Result<Vec<String>> {
        let mut places = vec![String::new()];
        match self.depth {
            NameDepth::Language => {
                let languages = ["en/", "zh/"].into_iter();
                let there = languages.filter(|place| self.path.join(place).is_dir());
                places.extend(there.map(str::to_owned));
            }
            NameDepth::Group => {
                let above = list_directories(&self.path, "")?;
                for place in above {
                    let below = list_directories(&self.path, &place)?;
                    places.push(place);
                    places.extend(below);
                }
                places.truncate(MAX_PLACES);
            }
        }
        Ok(places)
    }
}

/// Returns the directories at a place of a folder, sorted by name, without hidden directories.
fn list_directories(folder: &Path, place: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder.join(place))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() && !name.starts_with('.') {
            names.push(format!("{place}{name}/"));
        }
    }
    names.sort();
    Ok(names)
}

/// A single text, as a folder without other files.
#[derive(Debug, Clone)]
pub struct LocalText(PathBuf);

impl LocalText {
    /// Creates the text at a path, without reading the disk.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn read_now(&self) -> FolderText {
        let name = self.0.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = read_text(&self.0).unwrap_or_else(|| Err(MISSING_TEXT.to_owned()));
        FolderText { name, text }
    }
}

impl TextFolder for LocalText {
    fn path(&self) -> String {
        self.0.parent().unwrap_or(Path::new("")).display().to_string()
    }

    fn read_at_start(&self) -> Option<Result<Vec<FolderText>, TextFolderError>> {
        Some(Ok(vec![self.read_now()]))
    }

    fn read_texts(&self) -> BoxFuture<'_, Result<Vec<FolderText>, TextFolderError>> {
        let text = self.clone();
        Box::pin(async move {
            let result = tokio::task::spawn_blocking(move || text.read_now()).await;
            result.map(|text| vec![text]).map_err(|error| TextFolderError(error.to_string()))
        })
    }
}

impl TextFolder for LocalFolder {
    fn path(&self) -> String {
        self.path.display().to_string()
    }

    fn read_at_start(&self) -> Option<Result<Vec<FolderText>, TextFolderError>> {
        Some(self.read_now())
    }

    fn read_texts(&self) -> BoxFuture<'_, Result<Vec<FolderText>, TextFolderError>> {
        let folder = self.clone();
        Box::pin(async move {
            let result = tokio::task::spawn_blocking(move || folder.read_now()).await;
            result.unwrap_or_else(|error| Err(TextFolderError(error.to_string())))
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
        // A file being replaced exists at the next read.
        let Some(text) = read_text(&path) else { continue };
        texts.push(FolderText { name: format!("{place}{file_name}"), text });
    }
    Ok(())
}

/// Reads a text, or returns an error message; `None` if the file does not exist.
fn read_text(path: &Path) -> Option<Result<Arc<str>, String>> {
    let is_too_long =
        std::fs::metadata(path).is_ok_and(|file| file.len() > MAX_TEXT as u64 && file.is_file());
    if is_too_long {
        return Some(Err(format!("has more than {MAX_TEXT} bytes: make it shorter")));
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Some(Ok(text.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Some(Err("is not UTF-8".to_owned()))
        }
        Err(error) => Some(Err(format!("cannot be read: {error}"))),
    }
}
