//! Agent files in a folder, with reading and checks.

use std::collections::BTreeSet;
use std::sync::Arc;

use djinn_agents::{AgentFile, FileProblem, ReadAgent, check_part, read_agent, shipped_agents};
use djinn_core::language::Language;
use djinn_runtime::port::text_folder::FolderText;

/// An agent file in a folder.
#[derive(Debug, Clone)]
pub(super) struct FoundFile {
    /// The path shown in problems: the folder from the setting, and the file's name.
    path: String,
    /// The text, or why there is none.
    text: Result<Arc<str>, String>,
    /// The language of the file's text; `None` for both.
    language: Option<Language>,
}

impl FoundFile {
    /// Lists the agent files of a folder.
    pub(super) fn list(folder: String, texts: Vec<FolderText>) -> impl Iterator<Item = Self> {
        texts.into_iter().map(move |folder_text| {
            let path = folder_text.path_in(&folder);
            let FolderText { name, text } = folder_text;
            let language = [Language::En, Language::Zh].into_iter().find(|language| {
                name.strip_prefix(language.as_str()).is_some_and(|name| name.starts_with('/'))
            });
            Self { path, text, language }
        })
    }

    pub(super) fn is_in(&self, language: Language) -> bool {
        self.language.is_none_or(|own| own == language)
    }

    pub(super) fn key(&self, language: Language) -> (String, &'static str) {
        (self.path.clone(), language.as_str())
    }

    pub(super) fn read(&self, language: Language) -> Result<ReadAgent, FileProblem> {
        let path = self.path.as_str();
        match &self.text {
            Ok(text) => read_agent(&AgentFile { path, text, language }),
            Err(rule) => {
                Err(FileProblem { path: path.to_owned(), line: 1, rule: format!("it {rule}") })
            }
        }
    }
}

/// Returns the agents of these files in one language, if all are valid. Unless `whole`, unknown names count
/// as tools or agents defined elsewhere.
pub(super) fn check_files<'a>(
    files: &'a [FoundFile],
    language: Language,
    tools: &BTreeSet<String>,
    whole: bool,
) -> Result<Vec<(&'a FoundFile, ReadAgent)>, FileProblem> {
    let mut agents_by_file = Vec::new();
    for file in files.iter().filter(|file| file.is_in(language)) {
        let agent = file.read(language)?;
        let warnings = agent.warnings.iter();
        warnings.for_each(|warning| tracing::warn!(warning, "an agent's file"));
        agents_by_file.push((file, agent));
    }
    let agents = agents_by_file.iter().map(|(_, agent)| agent.clone()).collect();
    let agents = with_shipped(agents, language)?;
    let mut tools = tools.clone();
    let mut elsewhere = BTreeSet::new();
    if !whole {
        // Names of tools and agents that these files do not define are left to other folders.
        let own: BTreeSet<&str> = agents.iter().map(|agent| agent.spec.name.as_str()).collect();
        let tool_names = agents.iter().flat_map(|agent| {
            let spec = &agent.spec;
            spec.tools.iter().chain(&spec.before).chain(&spec.after)
        });
        tools.extend(tool_names.filter(|name| !own.contains(name.as_str())).cloned());
        let next_agents = agents.iter().flat_map(|agent| &agent.spec.hands_over);
        elsewhere.extend(next_agents.cloned());
    }
    match check_part(&agents, &tools, &elsewhere).into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(agents_by_file),
    }
}

/// Returns a deployment's agents, and our own agents without a replacement.
pub(super) fn with_shipped(
    mut agents: Vec<ReadAgent>,
    language: Language,
) -> Result<Vec<ReadAgent>, FileProblem> {
    let own: BTreeSet<String> = agents.iter().map(|agent| agent.spec.name.clone()).collect();
    for file in shipped_agents(language) {
        let agent = read_agent(&file)?;
        if !own.contains(&agent.spec.name) {
            agents.push(agent);
        }
    }
    Ok(agents)
}
