//! Texts on the disk of a function: a folder of them, or one alone.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use djinn_runtime::port::text_folder::{
    FolderText, MAX_TEXT, NameDepth, TextFolder, TextFolderError,
};
use djinn_runtime::port::tool::BoxFuture;

/// The most texts of one directory. Of more, those that come last by name are left out.
const MAX_FILES: usize = 200;

/// The most directories of a folder. Of more, those that come last by name are left out.
const MAX_PLACES: usize = 64;

/// The Markdown files of a folder.
#[derive(Debug, Clone)]
pub struct LocalFolder {
    path: PathBuf,
    depth: NameDepth,
}

impl LocalFolder {
    /// The folder of this path, whose files are named so. It is not looked at by this.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, depth: NameDepth) -> Self {
        Self { path: path.into(), depth }
    }

    fn read_now(&self) -> Result<Vec<FolderText>, TextFolderError> {
        let read = self.list_places().and_then(|places| {
            let mut texts = Vec::new();
            for place in places {
                read_directory(&self.path.join(&place), &place, &mut texts)?;
            }
            Ok(texts)
        });
        read.map_err(|error| {
            TextFolderError(format!("the folder {} cannot be read: {error}", self.path()))
        })
    }

    /// What the names of texts begin with, by the directory that they are in.
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

/// The directories at a place of a folder, in the order of their names. Hidden ones are none of a deployment's.
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

/// One text, as a folder that has no other.
#[derive(Debug, Clone)]
pub struct LocalText(PathBuf);

impl LocalText {
    /// The text of this path. It is not looked at by this.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn read_now(&self) -> FolderText {
        let name = self.0.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = read_text(&self.0).unwrap_or_else(|| Err("is not there".to_owned()));
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
            let read = tokio::task::spawn_blocking(move || text.read_now()).await;
            read.map(|text| vec![text]).map_err(|error| TextFolderError(error.to_string()))
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
        // One that is being replaced is there the next time.
        let Some(text) = read_text(&path) else { continue };
        texts.push(FolderText { name: format!("{place}{file_name}"), text });
    }
    Ok(())
}

/// A text, or what is wrong with it. `None` if it is not there.
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
