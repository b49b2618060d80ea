//! The agents of a deployment: our own, and agents from folders, reread while the process runs.

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use djinn_agents::{FileProblem, ReadAgent, check_agents};
use djinn_core::language::Language;
pub use djinn_runtime::port::text_folder::MANIFEST;
use djinn_runtime::port::text_folder::{
    FolderText, ManifestError, NameDepth, TextFolder, TextFolderError, list_texts,
};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolAudience, ToolSource, ToolSourceError};
use files::{FoundFile, check_files, with_shipped};

use crate::agent_tool::AgentTool;
use crate::known_folders::{KnownFolders, ReadFolder, read_folders};
use crate::local_folder::LocalFolder;

/// An error in a deployment's agents. The text includes the remedy.
#[derive(Debug, thiserror::Error)]
pub enum AgentSetupError {
    /// A folder cannot be read.
    #[error(transparent)]
    Folder(#[from] TextFolderError),
    /// A listed name is not an agent's name.
    #[error("no agent is named `{0}`; there are {1}")]
    UnknownAgent(String, String),
    /// A file breaks a rule.
    #[error(transparent)]
    File(#[from] FileProblem),
    /// The files cannot be listed in a manifest.
    #[error("the manifest {0}")]
    Manifest(#[from] ManifestError),
}

/// Our own agents, and agents from folders: `<folder>/<name>.md` for both languages, or
/// `<folder>/en/<name>.md` and `<folder>/zh/<name>.md`. A deployment's agent replaces our agent of the same
/// name.
///
/// Folders are read on every look-up of agents. A file broken by then keeps its last valid state, or is left
/// out; the same holds for the files of an unreadable folder. Each case is logged.
pub struct AgentSource {
    folders: Vec<Arc<dyn TextFolder>>,
    /// True if all files were known at the start.
    is_whole_at_start: bool,
    tools: BTreeSet<String>,
    known_agents: Mutex<KnownAgents>,
}

/// The last state read.
#[derive(Default)]
struct KnownAgents {
    folders: KnownFolders,
    /// The last good state of each file in each language.
    good: BTreeMap<(String, &'static str), ReadAgent>,
    /// The current problems, each as a sentence.
    problems: BTreeSet<String>,
}

impl AgentSource {
    /// Opens the agents of these folders, with `tools` as the allowed tools.
    ///
    /// # Errors
    /// Returns [`AgentSetupError`] for the first broken file. For a folder not read at the start, files are
    /// unknown, so unknown names elsewhere are accepted.
    pub fn open(
        folders: Vec<Arc<dyn TextFolder>>,
        tools: BTreeSet<String>,
    ) -> Result<Self, AgentSetupError> {
        let mut files = Vec::new();
        let mut is_whole_at_start = true;
        let mut known_agents = KnownAgents::default();
        for folder in &folders {
            match folder.read_at_start() {
                Some(texts) => files.extend(known_agents.update_folder(folder.path(), Ok(texts?))),
                None => is_whole_at_start = false,
            }
        }
        for language in [Language::En, Language::Zh] {
            for (file, agent) in check_files(&files, language, &tools, is_whole_at_start)? {
                known_agents.good.insert(file.key(language), agent);
            }
        }
        Ok(Self { folders, is_whole_at_start, tools, known_agents: Mutex::new(known_agents) })
    }

    /// Checks that each name is an agent's name in either language. No check if some files are unknown at the
    /// start.
    ///
    /// # Errors
    /// Returns [`AgentSetupError::UnknownAgent`] for the first unknown name.
    pub fn check_names(&self, names: &BTreeSet<String>) -> Result<(), AgentSetupError> {
        let mut agents = Vec::new();
        for language in [Language::En, Language::Zh] {
            let own = self.lock_known().good.values().cloned().collect();
            agents.extend(with_shipped(own, language)?);
        }
        let existing_names: BTreeSet<&str> =
            agents.iter().map(|agent| agent.spec.name.as_str()).collect();
        match names.iter().find(|name| !existing_names.contains(name.as_str())) {
            Some(name) if self.is_whole_at_start => {
                let name_list: Vec<&str> = existing_names.into_iter().collect();
                Err(AgentSetupError::UnknownAgent(name.clone(), name_list.join(", ")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn lock_known(&self) -> MutexGuard<'_, KnownAgents> {
        self.known_agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownAgents {
    /// Returns the current files of a folder, or the last files of an unreadable folder.
    fn update_folder(
        &mut self,
        path: String,
        result: Result<Vec<FolderText>, TextFolderError>,
    ) -> impl Iterator<Item = FoundFile> + use<> {
        let ReadFolder { path, texts, problem } = self.folders.update_folder(path, result);
        self.problems.extend(problem);
        FoundFile::list(path, texts)
    }

    /// Returns the agents in one language, with the last valid state of broken files.
    fn list_agents(
        &mut self,
        files: &[FoundFile],
        language: Language,
        tools: &BTreeSet<String>,
    ) -> Vec<ReadAgent> {
        let mut own_agents = Vec::new();
        for file in files.iter().filter(|file| file.is_in(language)) {
            match file.read(language) {
                Ok(agent) => {
                    self.good.insert(file.key(language), agent.clone());
                    own_agents.push(agent);
                }
                Err(problem) => {
                    self.problems.insert(problem.to_string());
                    own_agents.extend(self.good.get(&file.key(language)).cloned());
                }
            }
        }
        let mut agents = with_shipped(own_agents, language).unwrap_or_default();
        // An agent that is invalid only together with others is left out.
        while let Some(problem) = check_agents(&agents, tools).into_iter().next() {
            self.problems.insert(problem.to_string());
            let count = agents.len();
            agents.retain(|agent| agent.path() != problem.path);
            if agents.len() == count {
                break;
            }
        }
        agents
    }
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
            let folder_texts = read_folders(&self.folders).await;
            let mut known_agents = self.lock_known();
            let earlier_problems = std::mem::take(&mut known_agents.problems);
            let mut files = Vec::new();
            for (path, texts) in folder_texts {
                files.extend(known_agents.update_folder(path, texts));
            }
            let mut by_name: BTreeMap<String, [Option<ReadAgent>; 2]> = BTreeMap::new();
            for (place, language) in [Language::En, Language::Zh].into_iter().enumerate() {
                for agent in known_agents.list_agents(&files, language, &self.tools) {
                    let versions = by_name.entry(agent.spec.name.clone()).or_default();
                    if let Some(room) = versions.get_mut(place) {
                        *room = Some(agent);
                    }
                }
            }
            known_agents.problems.difference(&earlier_problems).for_each(|problem| {
                tracing::warn!(problem, "agents stay as they last were, or are left out");
            });
            let tools = by_name.into_values().filter_map(|[en, zh]| {
                let tool =
                    AgentTool::of_files(en.map(|agent| agent.spec), zh.map(|agent| agent.spec))?;
                Some(Arc::new(tool) as Arc<dyn Tool>)
            });
            Ok(tools.collect())
        })
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    fn lists_agents(&self) -> bool {
        true
    }

    /// Returns `None` without a deployment's folders, because our own agents are valid.
    fn list_problems(&self) -> Option<Vec<String>> {
        let problems = || self.lock_known().problems.iter().cloned().collect();
        (!self.folders.is_empty()).then(problems)
    }
}

/// Returns the manifest of the files in a folder. The files are checked, except for references to unknown
/// tools.
///
/// # Errors
/// Returns [`AgentSetupError`] for the first error.
pub fn make_manifest(folder: &Path) -> Result<String, AgentSetupError> {
    let folder = LocalFolder::new(folder, NameDepth::Language);
    let texts = folder.read_at_start().unwrap_or_else(|| Ok(Vec::new()))?;
    let manifest = list_texts(&texts, NameDepth::Language)?;
    let files: Vec<_> = FoundFile::list(folder.path(), texts).collect();
    for language in [Language::En, Language::Zh] {
        check_files(&files, language, &BTreeSet::new(), false)?;
    }
    Ok(manifest)
}
