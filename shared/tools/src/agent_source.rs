//! The agents of a deployment: those that Djinn brings along, and those of its folders, which are read anew
//! while it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use djinn_agents::{AgentFile, AgentProblem, ReadAgent, check_agents, read_agent, shipped_agents};
use djinn_core::language::Language;
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolAudience, ToolSource, ToolSourceError};

use crate::agent_tool::AgentTool;

/// The most files of agents in a folder. Of more, those that come last by name are left out.
const MAX_FILES: usize = 200;

/// Why a deployment's agents cannot be offered. Its text says what to change.
#[derive(Debug, thiserror::Error)]
pub enum AgentSetupError {
    /// A folder cannot be read.
    #[error("the folder of agents {0} cannot be read: {1}")]
    Folder(String, io::Error),
    /// A name among those that are offered is no agent's.
    #[error("no agent is named `{0}`; there are {1}")]
    UnknownAgent(String, String),
    /// A file breaks a rule.
    #[error(transparent)]
    File(#[from] AgentProblem),
}

/// The agents that Djinn brings along, and those of folders: `<folder>/<name>.md` for both languages, or
/// `<folder>/en/<name>.md` and `<folder>/zh/<name>.md`. A deployment's agent stands in the place of ours of
/// the same name.
///
/// Folders are read whenever agents are asked for. A file that is broken by then keeps its last good state, or
/// is left out; a log line says so.
pub struct AgentSource {
    folders: Vec<PathBuf>,
    tools: BTreeSet<String>,
    /// The last good state of each file, and what was said of broken ones.
    known: Mutex<KnownFiles>,
}

#[derive(Default)]
struct KnownFiles {
    good: BTreeMap<(PathBuf, &'static str), ReadAgent>,
    reported: BTreeMap<PathBuf, String>,
}

/// A file of agents that was found, and the language of its words; none for both.
struct FoundFile {
    path: PathBuf,
    text: String,
    language: Option<Language>,
}

impl AgentSource {
    /// The agents of these folders, which may call these tools.
    ///
    /// # Errors
    /// [`AgentSetupError`] for the first file that is broken now.
    pub fn open(folders: Vec<PathBuf>, tools: BTreeSet<String>) -> Result<Self, AgentSetupError> {
        let source = Self { folders, tools, known: Mutex::default() };
        let files = source.find_files()?;
        for language in [Language::En, Language::Zh] {
            let mut read = Vec::new();
            for file in files.iter().filter(|file| file.is_in(language)) {
                let agent = file.read(language)?;
                agent
                    .warnings
                    .iter()
                    .for_each(|warning| tracing::warn!(warning, "an agent's file"));
                source.lock_known().good.insert(file.key(language), agent.clone());
                read.push(agent);
            }
            let agents = with_shipped(read, language)?;
            if let Some(problem) = check_agents(&agents, &source.tools).into_iter().next() {
                return Err(problem.into());
            }
        }
        Ok(source)
    }

    fn find_files(&self) -> Result<Vec<FoundFile>, AgentSetupError> {
        let mut files = Vec::new();
        for folder in &self.folders {
            let read = |folder: &Path, language, files: &mut Vec<FoundFile>| {
                read_folder(folder, language, files)
                    .map_err(|error| AgentSetupError::Folder(folder.display().to_string(), error))
            };
            read(folder, None, &mut files)?;
            for (name, language) in [("en", Language::En), ("zh", Language::Zh)] {
                let folder = folder.join(name);
                if folder.is_dir() {
                    read(&folder, Some(language), &mut files)?;
                }
            }
        }
        Ok(files)
    }

    fn lock_known(&self) -> MutexGuard<'_, KnownFiles> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if one of these names is no agent's now, in either language.
    ///
    /// # Errors
    /// [`AgentSetupError::UnknownAgent`] for the first of them, or `Folder`.
    pub fn check_names(&self, names: &BTreeSet<String>) -> Result<(), AgentSetupError> {
        let tools = self.list_tools()?;
        let known: BTreeSet<String> =
            tools.iter().map(|tool| tool.spec(Language::En).name).collect();
        let Some(name) = names.difference(&known).next() else { return Ok(()) };
        let listed: Vec<&str> = known.iter().map(String::as_str).collect();
        Err(AgentSetupError::UnknownAgent(name.clone(), listed.join(", ")))
    }

    /// The agents in one language, of which broken ones are as they last were.
    fn list_agents(&self, files: &[FoundFile], language: Language) -> Vec<ReadAgent> {
        let mut known = self.lock_known();
        let mut read = Vec::new();
        for file in files.iter().filter(|file| file.is_in(language)) {
            match file.read(language) {
                Ok(agent) => {
                    known.good.insert(file.key(language), agent.clone());
                    read.push(agent);
                }
                Err(problem) => {
                    known.report_problem(&file.path, &problem);
                    read.extend(known.good.get(&file.key(language)).cloned());
                }
            }
        }
        let mut agents = with_shipped(read, language).unwrap_or_default();
        // What breaks a rule only together with others is left out until that is mended.
        while let Some(problem) = check_agents(&agents, &self.tools).into_iter().next() {
            known.report_problem(Path::new(&problem.path), &problem);
            let count = agents.len();
            agents.retain(|agent| agent.path() != problem.path);
            if agents.len() == count {
                break;
            }
        }
        agents
    }

    fn list_tools(&self) -> Result<Vec<Arc<dyn Tool>>, AgentSetupError> {
        let files = self.find_files()?;
        let mut by_name: BTreeMap<String, [Option<ReadAgent>; 2]> = BTreeMap::new();
        for (place, language) in [Language::En, Language::Zh].into_iter().enumerate() {
            for agent in self.list_agents(&files, language) {
                let found = by_name.entry(agent.spec.name.clone()).or_default();
                if let Some(room) = found.get_mut(place) {
                    *room = Some(agent);
                }
            }
        }
        let tools = by_name.into_values().filter_map(|[en, zh]| {
            let tool = AgentTool::of_files(en.map(|agent| agent.spec), zh.map(|agent| agent.spec))?;
            Some(Arc::new(tool) as Arc<dyn Tool>)
        });
        Ok(tools.collect())
    }
}

impl KnownFiles {
    /// Says once what is wrong with a file.
    fn report_problem(&mut self, path: &Path, problem: &AgentProblem) {
        let text = problem.to_string();
        if self.reported.get(path) != Some(&text) {
            let has_last = self.good.keys().any(|(known, _)| known == path);
            tracing::warn!(problem = text, has_last, "an agent's file is broken");
            self.reported.insert(path.to_owned(), text);
        }
    }
}

impl FoundFile {
    fn is_in(&self, language: Language) -> bool {
        self.language.is_none_or(|own| own == language)
    }

    fn key(&self, language: Language) -> (PathBuf, &'static str) {
        (self.path.clone(), language.as_str())
    }

    fn read(&self, language: Language) -> Result<ReadAgent, AgentProblem> {
        let path = self.path.display().to_string();
        read_agent(&AgentFile { path: &path, text: &self.text, language })
    }
}

fn read_folder(
    folder: &Path,
    language: Option<Language>,
    files: &mut Vec<FoundFile>,
) -> io::Result<()> {
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
        tracing::warn!(first, most = MAX_FILES, "a folder of agents has more files than are read");
    }
    for path in paths.into_iter().take(MAX_FILES) {
        // One that is being replaced is there the next time.
        if let Ok(text) = std::fs::read_to_string(&path) {
            files.push(FoundFile { path, text, language });
        }
    }
    Ok(())
}

/// A deployment's agents, and ours that it has none of the same name of.
fn with_shipped(
    mut agents: Vec<ReadAgent>,
    language: Language,
) -> Result<Vec<ReadAgent>, AgentProblem> {
    let own: BTreeSet<String> = agents.iter().map(|agent| agent.spec.name.clone()).collect();
    for file in shipped_agents(language) {
        let agent = read_agent(&file)?;
        if !own.contains(&agent.spec.name) {
            agents.push(agent);
        }
    }
    Ok(agents)
}

impl ToolSource for AgentSource {
    fn name(&self) -> &'static str {
        "agents"
    }

    fn list_tools<'a>(
        &'a self,
        _: &'a ToolAudience,
    ) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolSourceError>> {
        Box::pin(async {
            Self::list_tools(self).map_err(|error| ToolSourceError(error.to_string()))
        })
    }
}
