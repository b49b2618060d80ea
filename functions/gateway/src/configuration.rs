//! The gateway's part of the configuration folder, read again while the process runs.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use djinn_outside::OutsideDefinition;
use djinn_runtime::configuration::Variables;
use djinn_runtime::port::clock::{Clock, SystemClock, elapsed_ms};
use djinn_runtime::port::outside::OutsideError;
use djinn_runtime::port::secret::Secret;
use djinn_runtime::port::text_folder::{FolderText, TextFolderError};
use djinn_settings::table::runtime::LOCAL;
use djinn_tools::tool_files::ToolFiles;
use djinn_wiring::ConfigurationFolder;

use crate::keys::KeyLocation;
use crate::settings::{EngineSettings, GatewaySettings, parse_engines};

/// The engines of one moment.
pub(crate) type Engines = Arc<[EngineSettings]>;

/// A tool that is a file, with the locations of its keys by name.
#[derive(Debug, Clone)]
pub(crate) struct CallableTool {
    pub(crate) tool: OutsideDefinition,
    pub(crate) keys: Vec<(String, KeyLocation)>,
}

/// The start of the name of a secret with a key of tools.
pub(crate) const TOOL_SECRETS: &str = "djinn/tools/";

/// The start of the name of a variable with a key of tools, on a laptop.
const TOOL_VARIABLES: &str = "TOOL_KEY_";

/// The configuration of a gateway. With a folder, the first job reads, and later jobs read again at most every
/// five seconds; at the start nothing is read.
pub(crate) struct GatewayConfiguration<C = SystemClock> {
    folder: Option<WatchedFolder<C>>,
    /// The engines for a folder that names none.
    default_engines: Engines,
}

struct WatchedFolder<C> {
    folder: ConfigurationFolder,
    fresh_ms: u64,
    clock: C,
    /// The start of the last read, Unix milliseconds. The first caller after the interval reads, while others
    /// wait.
    read_at_ms: tokio::sync::Mutex<Option<i64>>,
    state: std::sync::Mutex<FolderState>,
}

/// The last valid state of the files.
#[derive(Default)]
struct FolderState {
    texts: Option<Vec<FolderText>>,
    /// The engines of the last valid `djinn.toml`, which may name none.
    engines: Option<Option<Engines>>,
    files: ToolFiles,
    /// The tools of the last valid state of each file.
    tools: BTreeMap<String, CallableTool>,
    /// The problems of the last read, as sentences.
    problems: Vec<String>,
}

impl GatewayConfiguration {
    /// Creates the configuration of these settings, without reading.
    pub(crate) fn new(settings: &mut GatewaySettings) -> Self {
        Self::with_clock(settings, SystemClock)
    }
}

impl<C: Clock> GatewayConfiguration<C> {
    fn with_clock(settings: &mut GatewaySettings, clock: C) -> Self {
        let folder = settings.folder.take().map(|(folder, fresh)| WatchedFolder {
            folder,
            fresh_ms: u64::try_from(fresh.as_millis()).unwrap_or(u64::MAX),
            clock,
            read_at_ms: tokio::sync::Mutex::default(),
            state: std::sync::Mutex::default(),
        });
        let default_engines = std::mem::take(&mut settings.engines).into();
        Self { folder, default_engines }
    }

    /// Returns the current engines.
    ///
    /// # Errors
    /// Returns [`OutsideError::Unavailable`] if no valid `djinn.toml` was ever read.
    pub(crate) async fn current_engines(&self) -> Result<Engines, OutsideError> {
        let Some(watched) = &self.folder else { return Ok(Arc::clone(&self.default_engines)) };
        watched.update(watched.fresh_ms).await;
        let state = watched.lock_state();
        match &state.engines {
            Some(Some(engines)) => Ok(Arc::clone(engines)),
            Some(None) => Ok(Arc::clone(&self.default_engines)),
            None => Err(OutsideError::Unavailable(state.problems.join("; "))),
        }
    }

    /// Returns the tool with this definition, the SHA-256 of its file. The folder is read again if an earlier read
    /// returned another definition.
    pub(crate) async fn find_tool(&self, name: &str, definition: &str) -> Option<CallableTool> {
        let watched = self.folder.as_ref()?;
        for fresh_ms in [watched.fresh_ms, 0] {
            watched.update(fresh_ms).await;
            let tool = watched.lock_state().tools.get(name).cloned();
            let tool = tool
                .filter(|found| found.tool.sha256() == definition && found.tool.terms().is_enabled);
            if tool.is_some() {
                return tool;
            }
        }
        None
    }
}

impl<C: Clock> WatchedFolder<C> {
    /// Reads the folder, unless the last read is within `fresh_ms`.
    async fn update(&self, fresh_ms: u64) {
        let mut read_at_ms = self.read_at_ms.lock().await;
        let now_ms = self.clock.now_ms();
        if read_at_ms.is_none_or(|at_ms| elapsed_ms(at_ms, now_ms) >= fresh_ms) {
            *read_at_ms = Some(now_ms);
            let texts = self.folder.read_texts().await;
            self.apply(texts);
        }
    }

    /// Applies what has changed. A broken file keeps its last valid version, which is logged.
    fn apply(&self, texts: Result<Vec<FolderText>, TextFolderError>) {
        let mut state = self.lock_state();
        let problems = match texts {
            Ok(texts) if state.texts.as_ref() == Some(&texts) => return,
            Ok(texts) => {
                let mut problems = self.read_tools(&texts, &mut state);
                match self.parse_engines(&texts) {
                    Ok(engines) => state.engines = Some(engines),
                    Err(of_engines) => problems.extend(of_engines),
                }
                state.texts = Some(texts);
                problems
            }
            Err(error) => {
                // The texts are applied again once the folder is readable.
                state.texts = None;
                vec![error.to_string()]
            }
        };
        for problem in problems.iter().filter(|problem| !state.problems.contains(problem)) {
            tracing::warn!(
                problem,
                "a file of the configuration stays as it last was, or is left out"
            );
        }
        state.problems = problems;
    }

    /// Parses the engines of `djinn.toml`; `None` if the file names none.
    fn parse_engines(&self, texts: &[FolderText]) -> Result<Option<Engines>, Vec<String>> {
        let document = Arc::new(self.folder.parse_settings(texts)?);
        let variables = self.folder.layer(Arc::clone(&document));
        let engines = parse_engines(&*variables).map_err(|error| {
            vec![ConfigurationFolder::locate(&document, error.into()).to_string()]
        })?;
        Ok(engines.map(Engines::from))
    }

    /// Reads the tools of the folder, and removes those without a file. Returns the problems as sentences.
    fn read_tools(&self, texts: &[FolderText], state: &mut FolderState) -> Vec<String> {
        let reading = state.files.read(self.folder.path(), texts);
        let tools = reading.tools.into_iter().map(|tool| {
            let keys = tool.key_names().into_iter().map(|key| self.locate_key(key));
            let keys = keys.collect();
            (tool.name().to_owned(), CallableTool { tool, keys })
        });
        state.tools = tools.collect();
        reading.problems.iter().map(ToString::to_string).collect()
    }

    /// Returns the location of a key: a secret, or a variable that is set on a laptop.
    fn locate_key(&self, name: &str) -> (String, KeyLocation) {
        let variable = key_variable(name);
        let variables: Variables = self.folder.layer(Arc::default());
        let key = LOCAL.read_switch(&*variables).unwrap_or_default().then(|| variables(&variable));
        let location = match key.flatten() {
            Some(key) => KeyLocation::Inline(Secret::new(&key)),
            None => KeyLocation::Stored(format!("{TOOL_SECRETS}{name}")),
        };
        (name.to_owned(), location)
    }

    fn lock_state(&self) -> MutexGuard<'_, FolderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the name of the variable with a key of tools, on a laptop.
pub(crate) fn key_variable(name: &str) -> String {
    format!("{TOOL_VARIABLES}{}", name.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use djinn_aws::{Aws, Settings};
    use djinn_testkit::clock::ManualClock;
    use djinn_wiring::Variables;
    use tempfile::TempDir;

    use super::*;

    const TAVILY: &str = "[[search.engines]]\nengine = \"tavily\"\nkey = \"env:ENGINE_KEY\"\n";
    const JINA: &str = "[[search.engines]]\nengine = \"jina\"\nkey = \"secret:djinn/tools/jina\"\n";

    /// The configuration of a gateway over a folder, read again after five seconds.
    fn open(
        folder: &Path,
        clock: &ManualClock,
        engines: Option<&'static str>,
    ) -> GatewayConfiguration<ManualClock> {
        let path = folder.to_str().unwrap().to_owned();
        let variables: Variables = Arc::new(move |name| match name {
            "DJINN_CONFIG" => Some(path.clone()),
            "DJINN_SEARCH__ENGINES" => engines.map(str::to_owned),
            "ENGINE_KEY" => Some("k1".to_owned()),
            _ => None,
        });
        let store = Aws::new(Settings::new("t", "b")).store();
        let folder = ConfigurationFolder::open(&variables, &store).unwrap().unwrap();
        let settings = GatewaySettings::from_vars(&*variables).unwrap();
        let mut settings = settings.with_folder(folder, Duration::from_secs(5));
        GatewayConfiguration::with_clock(&mut settings, clock.clone())
    }

    async fn names(configuration: &GatewayConfiguration<ManualClock>) -> Vec<&'static str> {
        let engines = configuration.current_engines().await.unwrap();
        engines.iter().map(|engine| engine.engine.name()).collect()
    }

    #[tokio::test]
    async fn changed_engines_count_after_five_seconds_and_broken_ones_never() {
        let (folder, clock) = (TempDir::new().unwrap(), ManualClock::new());
        let file = folder.path().join("djinn.toml");
        let configuration = open(folder.path(), &clock, None);
        assert_eq!(names(&configuration).await, [""; 0]);
        fs::write(&file, TAVILY).unwrap();
        clock.advance(Duration::from_millis(4_999));
        assert_eq!(names(&configuration).await, [""; 0]);
        clock.advance(Duration::from_millis(1));
        assert_eq!(names(&configuration).await, ["tavily"]);
        for broken in [
            "[search]\nengine = 1\n".to_owned(),
            JINA.replace("jina\"\n", "nobody\"\n"),
            JINA.replace("secret:", "key-"),
        ] {
            fs::write(&file, broken).unwrap();
            clock.advance(Duration::from_secs(5));
            assert_eq!(names(&configuration).await, ["tavily"]);
        }
        fs::write(&file, JINA).unwrap();
        clock.advance(Duration::from_secs(5));
        assert_eq!(names(&configuration).await, ["jina"]);
        fs::remove_file(&file).unwrap();
        clock.advance(Duration::from_secs(5));
        assert_eq!(names(&configuration).await, [""; 0]);
    }

    #[tokio::test]
    async fn a_file_that_was_never_valid_is_an_error_with_its_place() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("djinn.toml");
        let configuration = open(folder.path(), &ManualClock::new(), None);
        fs::write(&file, "language = \"en\"\n[[search.engines]]\nengine = \"tavily\"\n").unwrap();
        let error = configuration.current_engines().await.err();
        let problem = "search.engines has an engine tavily without `key`, which it needs";
        let sentence = format!("{}:2: {problem}", file.display());
        assert_eq!(error, Some(OutsideError::Unavailable(sentence)));
    }

    #[tokio::test]
    async fn the_variable_overrides_the_engines_of_the_file() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("djinn.toml"), TAVILY).unwrap();
        let engines = r#"[{"engine": "brave", "key": "env:ENGINE_KEY"}]"#;
        let configuration = open(folder.path(), &ManualClock::new(), Some(engines));
        assert_eq!(names(&configuration).await, ["brave"]);
    }
}
