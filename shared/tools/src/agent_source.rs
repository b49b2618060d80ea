//! The agents of a deployment: those that Djinn brings along, and those of its folders, which are read anew
//! while it runs.

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

/// Why a deployment's agents cannot be offered. Its text says what to change.
#[derive(Debug, thiserror::Error)]
pub enum AgentSetupError {
    /// A folder cannot be read.
    #[error(transparent)]
    Folder(#[from] TextFolderError),
    /// A name among those that are offered is no agent's.
    #[error("no agent is named `{0}`; there are {1}")]
    UnknownAgent(String, String),
    /// A file breaks a rule.
    #[error(transparent)]
    File(#[from] FileProblem),
    /// The files cannot be listed in a manifest.
    #[error("the manifest {0}")]
    Manifest(#[from] ManifestError),
}

/// The agents that Djinn brings along, and those of folders: `<folder>/<name>.md` for both languages, or
/// `<folder>/en/<name>.md` and `<folder>/zh/<name>.md`. A deployment's agent stands in the place of ours of
/// the same name.
///
/// Folders are read whenever agents are asked for. A file that is broken by then keeps its last good state, or
/// is left out, and so do the files of a folder that cannot be read; a log line says so.
pub struct AgentSource {
    folders: Vec<Arc<dyn TextFolder>>,
    /// Whether all files were known at the start.
    is_whole_at_start: bool,
    tools: BTreeSet<String>,
    known: Mutex<KnownAgents>,
}

/// What was read last.
#[derive(Default)]
struct KnownAgents {
    folders: KnownFolders,
    /// The last good state of each file in each language.
    good: BTreeMap<(String, &'static str), ReadAgent>,
    /// What is wrong, in a sentence each.
    problems: BTreeSet<String>,
}

impl AgentSource {
    /// The agents of these folders, which may call these tools.
    ///
    /// # Errors
    /// [`AgentSetupError`] for the first file that is broken now. Of a folder that is not asked by now no file
    /// is known, nor what others may mean by a name that nothing has.
    pub fn open(
        folders: Vec<Arc<dyn TextFolder>>,
        tools: BTreeSet<String>,
    ) -> Result<Self, AgentSetupError> {
        let (mut files, mut is_whole_at_start) = (Vec::new(), true);
        let mut known = KnownAgents::default();
        for folder in &folders {
            match folder.read_at_start() {
                Some(texts) => files.extend(known.update_folder(folder.path(), Ok(texts?))),
                None => is_whole_at_start = false,
            }
        }
        for language in [Language::En, Language::Zh] {
            for (file, agent) in check_files(&files, language, &tools, is_whole_at_start)? {
                known.good.insert(file.key(language), agent);
            }
        }
        Ok(Self { folders, is_whole_at_start, tools, known: Mutex::new(known) })
    }

    /// Fails if one of these names is no agent's, in either language. Where not all files are known at the start
    /// it cannot be told.
    ///
    /// # Errors
    /// [`AgentSetupError::UnknownAgent`] for the first of them.
    pub fn check_names(&self, names: &BTreeSet<String>) -> Result<(), AgentSetupError> {
        let mut agents = Vec::new();
        for language in [Language::En, Language::Zh] {
            let own = self.lock_known().good.values().cloned().collect();
            agents.extend(with_shipped(own, language)?);
        }
        let known: BTreeSet<&str> = agents.iter().map(|agent| agent.spec.name.as_str()).collect();
        match names.iter().find(|name| !known.contains(name.as_str())) {
            Some(name) if self.is_whole_at_start => {
                let listed: Vec<&str> = known.into_iter().collect();
                Err(AgentSetupError::UnknownAgent(name.clone(), listed.join(", ")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn lock_known(&self) -> MutexGuard<'_, KnownAgents> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn list_now(&self) -> Vec<Arc<dyn Tool>> {
        let read = read_folders(&self.folders).await;
        let mut known = self.lock_known();
        let said = std::mem::take(&mut known.problems);
        let mut files = Vec::new();
        for (path, texts) in read {
            files.extend(known.update_folder(path, texts));
        }
        let mut by_name: BTreeMap<String, [Option<ReadAgent>; 2]> = BTreeMap::new();
        for (place, language) in [Language::En, Language::Zh].into_iter().enumerate() {
            for agent in known.list_agents(&files, language, &self.tools) {
                let found = by_name.entry(agent.spec.name.clone()).or_default();
                if let Some(room) = found.get_mut(place) {
                    *room = Some(agent);
                }
            }
        }
        known.problems.difference(&said).for_each(|problem| {
            tracing::warn!(problem, "agents stay as they last were, or are left out");
        });
        let tools = by_name.into_values().filter_map(|[en, zh]| {
            let tool = AgentTool::of_files(en.map(|agent| agent.spec), zh.map(|agent| agent.spec))?;
            Some(Arc::new(tool) as Arc<dyn Tool>)
        });
        tools.collect()
    }
}

impl KnownAgents {
    /// The files of a folder as they are now, or as they last were where it cannot be read.
    fn update_folder(
        &mut self,
        path: String,
        read: Result<Vec<FolderText>, TextFolderError>,
    ) -> impl Iterator<Item = FoundFile> + use<> {
        let ReadFolder { path, texts, problem } = self.folders.update_folder(path, read);
        self.problems.extend(problem);
        FoundFile::list(path, texts)
    }

    /// The agents in one language, of which broken ones are as they last were.
    fn list_agents(
        &mut self,
        files: &[FoundFile],
        language: Language,
        tools: &BTreeSet<String>,
    ) -> Vec<ReadAgent> {
        let mut read = Vec::new();
        for file in files.iter().filter(|file| file.is_in(language)) {
            match file.read(language) {
                Ok(agent) => {
                    self.good.insert(file.key(language), agent.clone());
                    read.push(agent);
                }
                Err(problem) => {
                    self.problems.insert(problem.to_string());
                    read.extend(self.good.get(&file.key(language)).cloned());
                }
            }
        }
        let mut agents = with_shipped(read, language).unwrap_or_default();
        // What breaks a rule only together with others is left out until that is mended.
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
        Box::pin(async { Ok(self.list_now().await) })
    }

    fn is_same_for_all(&self) -> bool {
        true
    }

    /// Ours are in good order: without own ones nobody is asked.
    fn list_problems(&self) -> Option<Vec<String>> {
        let problems = || self.lock_known().problems.iter().cloned().collect();
        (!self.folders.is_empty()).then(problems)
    }
}

/// The manifest of the files in a folder, which are checked as far as they can be where their deployment's tools
/// are not known.
///
/// # Errors
/// [`AgentSetupError`] for the first thing that is wrong.
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
