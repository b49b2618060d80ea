//! The configuration folder of a deployment: `djinn.toml`, `agents/` and `prompts/`.

use std::path::Path;
use std::sync::Arc;

use djinn_aws::AwsStore;
use djinn_runtime::port::configuration::Variables;
use djinn_runtime::port::text_folder::{FolderText, MISSING_TEXT, TextFolder, TextFolderError};
use djinn_settings::table::file_rows;
use djinn_settings::table::model::MODELS;
use djinn_settings::table::tools::{AGENTS, CONFIG, PROMPTS};
use djinn_settings::{FILE_NAME, InvalidSetting, SettingsDocument};

use crate::WiringError;
use crate::configuration::open_text;

/// The folder named by `DJINN_CONFIG`. Everything in it is optional.
#[derive(Clone)]
pub(crate) struct ConfigurationFolder {
    /// The path as the variable names it.
    path: String,
    file: Arc<dyn TextFolder>,
    environment: Variables,
}

impl ConfigurationFolder {
    /// Opens the folder named by the environment, if any. Nothing is read.
    ///
    /// # Errors
    /// Returns [`InvalidSetting`] for an invalid prefix, and for a local folder that does not exist.
    pub(crate) fn open(
        environment: &Variables,
        store: &AwsStore,
    ) -> Result<Option<Self>, InvalidSetting> {
        let Some(path) = CONFIG.find_text(&**environment) else { return Ok(None) };
        let path = path.trim().trim_end_matches('/').to_owned();
        if !path.starts_with('@') && !Path::new(&path).is_dir() {
            return Err(CONFIG.problem(&format!("names `{path}`, which is not a folder")));
        }
        let file = open_text(&CONFIG, &format!("{path}/{FILE_NAME}"), store)?;
        Ok(Some(Self { path, file, environment: Arc::clone(environment) }))
    }

    /// Returns the settings at the start of a process; `None` for a folder that is not read at the start.
    pub(crate) fn read_at_start(&self) -> Result<Option<SettingsDocument>, String> {
        self.file.read_at_start().map(|texts| self.parse(texts)).transpose()
    }

    /// Returns the current settings.
    ///
    /// # Errors
    /// Returns the first problem as a sentence.
    pub(crate) async fn read_settings(&self) -> Result<SettingsDocument, String> {
        self.parse(self.file.read_texts().await)
    }

    fn parse(
        &self,
        texts: Result<Vec<FolderText>, TextFolderError>,
    ) -> Result<SettingsDocument, String> {
        let path = format!("{}/{FILE_NAME}", self.path);
        let texts = texts.map_err(|error| error.to_string())?;
        let text = match texts.into_iter().next().map(|text| text.text) {
            Some(Ok(text)) => text,
            Some(Err(problem)) if problem != MISSING_TEXT => {
                return Err(format!("{path}:1: it {problem}"));
            }
            Some(Err(_)) | None => Arc::default(),
        };
        SettingsDocument::read(&file_rows(), &path, &text, &*self.environment).map_err(|problems| {
            let mut sentences = problems.into_iter().map(|problem| problem.sentence);
            let first = sentences.next().unwrap_or_default();
            match sentences.count() {
                0 => first,
                more => format!("{first} ({more} more: `cargo xtask check` lists all)"),
            }
        })
    }

    /// Returns the environment with the fields of the file below it, and with the folders of agents and prompts.
    pub(crate) fn layer(&self, document: Arc<SettingsDocument>) -> Variables {
        let environment = Arc::clone(&self.environment);
        let agents = self.find_folder("agents");
        let prompts = self.find_folder("prompts");
        Arc::new(move |name| {
            let variable = environment(name).filter(|text| !text.trim().is_empty());
            variable.or_else(|| match name {
                _ if name == AGENTS.name => agents.clone(),
                _ if name == PROMPTS.name => prompts.clone(),
                _ => document.find_text(name).map(str::to_owned),
            })
        })
    }

    /// Returns the path of a folder within the folder, unless it is local and does not exist.
    fn find_folder(&self, name: &str) -> Option<String> {
        let path = format!("{}/{name}", self.path);
        (path.starts_with('@') || Path::new(&path).is_dir()).then_some(path)
    }

    /// Names the place of an error in the file, unless a variable is wrong.
    pub(crate) fn locate(&self, document: &SettingsDocument, error: WiringError) -> WiringError {
        match error {
            WiringError::Settings(error) => {
                WiringError::Configuration(self.describe(document, &error))
            }
            WiringError::Models(error) if MODELS.find_text(&*self.environment).is_none() => {
                WiringError::Configuration(format!("{}: {error}", document.place(&error.path)))
            }
            other => other,
        }
    }

    fn describe(&self, document: &SettingsDocument, error: &InvalidSetting) -> String {
        let row = file_rows().into_iter().find(|row| row.name == error.name);
        let is_variable = row.is_some_and(|row| row.find_text(&*self.environment).is_some());
        match row.and_then(|row| row.field) {
            Some(field) if !is_variable => {
                format!("{}: {field} {}", document.place(field), error.problem)
            }
            _ => error.to_string(),
        }
    }
}
