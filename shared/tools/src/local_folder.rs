//! A configuration folder on a function's disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use djinn_core::id::sha256_hex;
pub use djinn_runtime::port::text_folder::{FOLDERS, MANIFEST, README, SERVERS_LOCK};
use djinn_runtime::port::text_folder::{
    FolderLayout, FolderText, MAX_DATA, MAX_LISTED, TextFolder, TextFolderError, check_name,
    is_data, max_text,
};
use djinn_runtime::port::tool::BoxFuture;
use djinn_settings::FILE_NAME;

/// The files of a folder.
#[derive(Debug, Clone)]
pub struct LocalFolder(PathBuf);

impl LocalFolder {
    /// Creates a folder at a path, without reading the disk.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns all texts by name. A folder within the folder may be missing.
    ///
    /// # Errors
    /// Returns [`TextFolderError`] if a directory cannot be read.
    pub fn read_now(&self) -> Result<Vec<FolderText>, TextFolderError> {
        let names = self.list_names().map_err(|error| self.unreadable(&error))?;
        Ok(self.read_files(names))
    }

    /// Lists the entries that nobody reads, such as a misspelt folder, each as a sentence.
    ///
    /// # Errors
    /// Returns [`TextFolderError`] if a directory cannot be read.
    pub fn list_unread(&self) -> Result<Vec<String>, TextFolderError> {
        let list = || {
            let above = list_entries(&self.0, "")?;
            let known_files = [FILE_NAME, README, MANIFEST];
            let mut names = above.files;
            names.retain(|name| !known_files.contains(&name.as_str()));
            let is_known = |place: &String| FOLDERS.iter().any(|folder| *place == place_of(folder));
            names.extend(above.directories.into_iter().filter(|place| !is_known(place)));
            for folder in self.list_folders() {
                names.extend(self.list_other_files(folder)?);
            }
            Ok(names)
        };
        let names = list().map_err(|error| self.unreadable(&error))?;
        let sentence = |name: String| {
            let rule = check_name(&name).err().unwrap_or_default();
            format!("{}/{name}:1: it {rule}", self.path())
        };
        Ok(names.into_iter().map(sentence).collect())
    }

    fn unreadable(&self, error: &io::Error) -> TextFolderError {
        TextFolderError(format!("the folder {} cannot be read: {error}", self.path()))
    }

    fn list_names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let above = list_entries(&self.0, "")?;
        names.extend(above.files.into_iter().filter(|name| name == FILE_NAME));
        for folder in self.list_folders() {
            names.extend(self.list_texts(folder)?);
        }
        names.sort();
        Ok(names)
    }

    /// Returns the folders that are there.
    fn list_folders(&self) -> impl Iterator<Item = &'static FolderLayout> {
        FOLDERS.iter().filter(|folder| self.0.join(folder.name).is_dir())
    }

    /// Returns the names of the texts of a folder.
    fn list_texts(&self, folder: &FolderLayout) -> io::Result<Vec<String>> {
        let mut names = self.list_files(folder)?;
        names.retain(|name| is_text(folder, name));
        Ok(names)
    }

    /// Returns the names of the files of a folder that are no texts.
    fn list_other_files(&self, folder: &FolderLayout) -> io::Result<Vec<String>> {
        let mut names = self.list_files(folder)?;
        names.retain(|name| !is_text(folder, name));
        Ok(names)
    }

    /// Returns the names of the files of a folder, its README and the folders within aside.
    fn list_files(&self, folder: &FolderLayout) -> io::Result<Vec<String>> {
        let place = place_of(folder);
        let mut within = list_entries(&self.0, &place)?;
        within.directories.retain(|place| FOLDERS.iter().all(|other| *place != place_of(other)));
        let mut names = within.files;
        for place in within.directories {
            let language = list_entries(&self.0, &place)?;
            names.extend(language.files);
            if folder.has_groups {
                for place in language.directories {
                    names.extend(list_entries(&self.0, &place)?.files);
                }
            }
        }
        names.retain(|name| *name != format!("{place}{README}"));
        Ok(names)
    }

    fn read_files(&self, names: Vec<String>) -> Vec<FolderText> {
        if let Some(first) = names.get(MAX_LISTED) {
            let folder = self.path();
            tracing::warn!(
                folder,
                first,
                most = MAX_LISTED,
                "a folder has more files than are read"
            );
        }
        let texts = names.into_iter().take(MAX_LISTED).filter_map(|name| {
            let text = match check_name(&name) {
                // A file being replaced exists at the next read.
                Ok(()) if is_data(&name) => hash_data(&self.0.join(&name))?,
                Ok(()) => read_text(&self.0.join(&name), max_text(&name))?,
                Err(rule) => Err(rule),
            };
            Some(FolderText { name, text })
        });
        texts.collect()
    }
}

/// Returns the path of a folder, with a slash at its end.
fn place_of(folder: &FolderLayout) -> String {
    format!("{}/", folder.name)
}

fn is_text(folder: &FolderLayout, name: &str) -> bool {
    if name == SERVERS_LOCK || is_data(name) {
        return true;
    }
    name.strip_suffix(folder.ending).is_some_and(|name| name.ends_with('.'))
}

/// The entries of a directory as names below the folder; those of directories end with a slash.
struct DirectoryEntries {
    files: Vec<String>,
    directories: Vec<String>,
}

/// Returns the entries at a place of a folder, without hidden ones.
fn list_entries(folder: &Path, place: &str) -> io::Result<DirectoryEntries> {
    let mut entries = DirectoryEntries { files: Vec::new(), directories: Vec::new() };
    for entry in std::fs::read_dir(folder.join(place))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        // A link counts as its target.
        if entry.path().is_dir() {
            entries.directories.push(format!("{place}{name}/"));
        } else if entry.path().is_file() {
            entries.files.push(format!("{place}{name}"));
        }
    }
    Ok(entries)
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
            let result = tokio::task::spawn_blocking(move || folder.read_now()).await;
            result.unwrap_or_else(|error| Err(TextFolderError(error.to_string())))
        })
    }

    fn read_data<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<u8>, TextFolderError>> {
        Box::pin(async move {
            let path = self.0.join(name);
            let shown_path = path.display().to_string();
            let problem = |problem: &str| TextFolderError(format!("{shown_path} {problem}"));
            let content = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
            match content.unwrap_or_else(|error| Err(io::Error::other(error))) {
                Ok(content) if content.len() > MAX_DATA => Err(problem(&too_large())),
                Ok(content) => Ok(content),
                Err(error) => Err(problem(&format!("cannot be read: {error}"))),
            }
        })
    }
}

fn too_large() -> String {
    format!("has more than {MAX_DATA} bytes: make it smaller")
}

/// Returns the hash of a file's content, or an error message; `None` if the file does not exist.
fn hash_data(path: &Path) -> Option<Result<Arc<str>, String>> {
    if std::fs::metadata(path).is_ok_and(|file| file.len() > MAX_DATA as u64) {
        return Some(Err(too_large()));
    }
    match std::fs::read(path) {
        Ok(content) => Some(Ok(sha256_hex(&content).into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Err(format!("cannot be read: {error}"))),
    }
}

/// Reads a text, or returns an error message; `None` if the file does not exist.
fn read_text(path: &Path, most: usize) -> Option<Result<Arc<str>, String>> {
    let is_too_long =
        std::fs::metadata(path).is_ok_and(|file| file.len() > most as u64 && file.is_file());
    if is_too_long {
        return Some(Err(format!("has more than {most} bytes: make it shorter")));
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
