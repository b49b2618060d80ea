//! The configuration folder of a deployment: the setting that names it, and its `djinn.toml`.

use std::path::Path;
use std::sync::Arc;

use djinn_aws::AwsStore;
use djinn_runtime::configuration::Variables;
use djinn_runtime::port::text_folder::{FolderText, TextFolder, TextFolderError};
use djinn_settings::table::file_rows;
use djinn_settings::table::model::MODELS;
use djinn_settings::table::tools::CONFIG;
use djinn_settings::{FILE_NAME, InvalidSetting, SettingsDocument};
use djinn_tools::local_folder::LocalFolder;

use crate::WiringError;

/// The folder named by `DJINN_CONFIG`. Everything in it is optional.
pub struct ConfigurationFolder {
    /// The path as the variable names it.
    path: String,
    folder: Arc<dyn TextFolder>,
    environment: Variables,
}

impl ConfigurationFolder {
    /// Opens the folder named by the environment, if any. Nothing is read.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for an invalid prefix, and for a local folder that does not exist.
    pub fn open(environment: &Variables, store: &AwsStore) -> Result<Option<Self>, InvalidSetting> {
        let Some(path) = CONFIG.find_text(&**environment) else { return Ok(None) };
        let path = path.trim().trim_end_matches('/').to_owned();
        let folder: Arc<dyn TextFolder> = match path.strip_prefix('@') {
            Some(prefix) => {
                let folder = store.open_text_folder(prefix);
                Arc::new(
                    folder.map_err(|error| CONFIG.problem(&format!("names `{path}`: {error}")))?,
                )
            }
            None if !Path::new(&path).is_dir() => {
                return Err(CONFIG.problem(&format!("names `{path}`, which is not a folder")));
            }
            None => Arc::new(LocalFolder::new(&path)),
        };
        Ok(Some(Self { path, folder, environment: Arc::clone(environment) }))
    }

    /// Returns the path as the variable names it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the folder itself.
    pub(crate) fn files(&self) -> Arc<dyn TextFolder> {
        Arc::clone(&self.folder)
    }

    /// Returns the texts at the start of a process; `None` for a folder that is not read at the start.
    ///
    /// # Errors
    /// Returns [`TextFolderError`] for a folder that cannot be read.
    pub(crate) fn read_at_start(&self) -> Option<Result<Vec<FolderText>, TextFolderError>> {
        self.folder.read_at_start()
    }

    /// Returns the current texts.
    ///
    /// # Errors
    /// Returns [`TextFolderError`] for a folder that cannot be read.
    pub async fn read_texts(&self) -> Result<Vec<FolderText>, TextFolderError> {
        self.folder.read_texts().await
    }

    /// Parses the `djinn.toml` among the texts of the folder; without one, no field is set.
    ///
    /// # Errors
    /// Returns all problems as sentences.
    pub fn parse_settings(&self, texts: &[FolderText]) -> Result<SettingsDocument, Vec<String>> {
        parse_settings(&self.path, texts, &self.environment)
    }

    /// Returns the fields of the file with the environment below them.
    #[must_use]
    pub fn layer(&self, document: Arc<SettingsDocument>) -> Variables {
        let environment = Arc::clone(&self.environment);
        Arc::new(move |name| {
            let field = document.find_text(name).map(str::to_owned);
            field.or_else(|| environment(name).filter(|text| !text.trim().is_empty()))
        })
    }

    /// Names the place in the file of an error in one of its fields.
    #[must_use]
    pub fn locate(document: &SettingsDocument, error: WiringError) -> WiringError {
        let (name, path, problem) = match &error {
            WiringError::Settings(invalid) => {
                let row = file_rows().into_iter().find(|row| row.name == invalid.name);
                (invalid.name, row.and_then(|row| row.field), &invalid.problem)
            }
            WiringError::Models(invalid) => {
                (MODELS.name, Some(invalid.path.as_str()), &invalid.problem)
            }
            _ => return error,
        };
        match path.filter(|_| document.find_text(name).is_some()) {
            Some(path) => {
                WiringError::Configuration(format!("{}: {path} {problem}", document.place(path)))
            }
            None => error,
        }
    }
}

/// Parses the `djinn.toml` among the texts of the folder at `path`.
pub(crate) fn parse_settings(
    path: &str,
    texts: &[FolderText],
    environment: &Variables,
) -> Result<SettingsDocument, Vec<String>> {
    let path = format!("{path}/{FILE_NAME}");
    let text = match texts.iter().find(|text| text.name == FILE_NAME).map(|text| &text.text) {
        Some(Ok(text)) => Arc::clone(text),
        Some(Err(problem)) => return Err(vec![format!("{path}:1: it {problem}")]),
        None => Arc::default(),
    };
    let document = SettingsDocument::read(&file_rows(), &path, &text, &**environment);
    document.map_err(|problems| problems.into_iter().map(|problem| problem.sentence).collect())
}
