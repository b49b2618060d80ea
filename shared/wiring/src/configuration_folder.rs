//! The configuration folder of a deployment: `djinn.toml`, `agents/` and `prompts/`.

use std::path::Path;
use std::sync::Arc;

use djinn_aws::AwsStore;
use djinn_runtime::configuration::Variables;
use djinn_runtime::port::secret::NoSecrets;
use djinn_runtime::port::text_folder::{FolderText, MISSING_TEXT, TextFolder, TextFolderError};
use djinn_settings::table::file_rows;
use djinn_settings::table::model::MODELS;
use djinn_settings::table::tools::{AGENTS, CONFIG, PROMPTS};
use djinn_settings::{FILE_NAME, InvalidSetting, PREFIX, SettingsDocument};

use crate::WiringError;
use crate::configuration::{open_text, parse_configured};
use crate::djinn::SettingsCheck;

/// The folder named by `DJINN_CONFIG`. Everything in it is optional.
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

    /// Returns the fields of the file with the environment below them, and with the folders of agents and prompts
    /// beside the environment's.
    pub(crate) fn layer(&self, document: Arc<SettingsDocument>) -> Variables {
        let environment = Arc::clone(&self.environment);
        let agents = self.find_folder("agents");
        let prompts = self.find_folder("prompts");
        Arc::new(move |name| {
            let variable = environment(name).filter(|text| !text.trim().is_empty());
            let folder = match name {
                _ if name == AGENTS.name => &agents,
                _ if name == PROMPTS.name => &prompts,
                _ => return document.find_text(name).map(str::to_owned).or(variable),
            };
            let folders: Vec<_> = variable.into_iter().chain(folder.clone()).collect();
            (!folders.is_empty()).then(|| folders.join(":"))
        })
    }

    /// Returns the path of a folder within the folder, unless it is local and does not exist.
    fn find_folder(&self, name: &str) -> Option<String> {
        let path = format!("{}/{name}", self.path);
        (path.starts_with('@') || Path::new(&path).is_dir()).then_some(path)
    }

    /// Names the place in the file of an error in one of its fields.
    pub(crate) fn locate(document: &SettingsDocument, error: WiringError) -> WiringError {
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

/// Checks the `djinn.toml` of a local folder. Returns a sentence for each problem, with file and line: all problems
/// of single fields, or else the first problem between fields. Keys of models are not looked up.
#[must_use]
pub fn check_settings_file(folder: &Path, check: SettingsCheck) -> Vec<String> {
    let path = folder.join(FILE_NAME);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![format!("{}: {error}", path.display())],
    };
    let nothing = |_: &str| None;
    let path = path.display().to_string();
    let document = match SettingsDocument::read(&file_rows(), &path, &text, &nothing) {
        Ok(document) => Arc::new(document),
        Err(problems) => return problems.into_iter().map(|problem| problem.sentence).collect(),
    };
    let fields = Arc::clone(&document);
    let variables: Variables = Arc::new(move |name| {
        if name.starts_with(PREFIX) {
            return fields.find_text(name).map(str::to_owned);
        }
        // A variable that holds the key of a model.
        fields.find_text(MODELS.name).map(|_| "set".to_owned())
    });
    let outcome = parse_configured(variables, NoSecrets, check);
    let problem = outcome.err().map(|error| ConfigurationFolder::locate(&document, error));
    problem.into_iter().map(|problem| problem.to_string()).collect()
}
