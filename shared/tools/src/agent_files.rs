//! The agents of a deployment: our own, and those of its configuration folder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use djinn_agents::{AgentFile, FileProblem, ReadAgent, check_agents, read_agent, shipped_agents};
use djinn_core::language::Language;
use djinn_runtime::port::text_folder::{AGENTS, FolderText, MODES, split_language};
use djinn_runtime::port::tool::{OfferedAgents, Tool};
use djinn_text::near_miss::find_near_miss;

use crate::agent_tool::AgentTool;

/// The agents of a deployment, with the last valid state of each file: `agents/NAME.md` for both languages, or
/// `agents/en/NAME.md` and `agents/zh/NAME.md`. In `modes/`, a file is a mode unless it says otherwise. A
/// deployment's agent replaces our agent of the same name.
#[derive(Debug)]
pub struct AgentFiles {
    tools: BTreeSet<String>,
    /// The names of the tools that are files. A name that is also an agent's is the agent's.
    file_tools: BTreeSet<String>,
    /// The last valid state of each file in each language.
    valid: BTreeMap<(String, Language), (Arc<str>, ReadAgent)>,
}

/// The agents of one read.
#[derive(Default)]
pub struct AgentReading {
    /// The agents in the order of their names, ours included.
    pub agents: Vec<Arc<dyn Tool>>,
    /// The problems of files, each once.
    pub problems: Vec<FileProblem>,
}

impl AgentFiles {
    /// Creates agents that may use these tools, without reading files.
    #[must_use]
    pub fn new(tools: BTreeSet<String>) -> Self {
        Self { tools, file_tools: BTreeSet::new(), valid: BTreeMap::new() }
    }

    /// Sets the tools that are files, which agents may use from the next read on.
    pub fn set_file_tools(&mut self, names: BTreeSet<String>) {
        self.file_tools = names;
    }

    /// Returns the agents in the texts of a configuration folder at the path `folder`. An invalid file keeps its
    /// last valid state; without one, and for a problem between files, its agent is left out.
    pub fn read(&mut self, folder: &str, texts: &[FolderText]) -> AgentReading {
        let mut problems = Vec::new();
        let mut by_name: BTreeMap<String, [Option<ReadAgent>; 2]> = BTreeMap::new();
        for (place, language) in [Language::En, Language::Zh].into_iter().enumerate() {
            let agents = self.read_language(folder, texts, language, &mut problems);
            for agent in self.leave_out_invalid(agents, language, &mut problems) {
                let versions = by_name.entry(agent.spec.name.clone()).or_default();
                if let Some(room) = versions.get_mut(place) {
                    *room = Some(agent);
                }
            }
        }
        let tools = by_name.into_values().filter_map(|[en, zh]| {
            let tool = AgentTool::of_files(en.map(|agent| agent.spec), zh.map(|agent| agent.spec))?;
            Some(Arc::new(tool) as Arc<dyn Tool>)
        });
        AgentReading { agents: tools.collect(), problems }
    }

    /// Returns the agents of the files in one language.
    fn read_language(
        &mut self,
        folder: &str,
        texts: &[FolderText],
        language: Language,
        problems: &mut Vec<FileProblem>,
    ) -> Vec<ReadAgent> {
        let agents = AGENTS.texts_of(texts).map(|(name, text)| (name, text, false));
        let modes = MODES.texts_of(texts).map(|(name, text)| (name, text, true));
        let mut list = Vec::new();
        for (name, text, entry) in agents.chain(modes) {
            if split_language(name).0.is_some_and(|own| own != language) {
                continue;
            }
            let key = (text.name.clone(), language);
            let path = text.path_in(folder);
            match (self.valid.get(&key), &text.text) {
                (Some((known, agent)), Ok(text)) if known == text => list.push(agent.clone()),
                (known, text) => match read_text(&path, text, language, entry) {
                    Ok((text, agent)) => {
                        for warning in &agent.warnings {
                            tracing::warn!(warning, "an agent's file");
                        }
                        list.push(agent.clone());
                        self.valid.insert(key, (text, agent));
                    }
                    Err(problem) => {
                        list.extend(known.map(|(_, agent)| agent.clone()));
                        add_once(problems, problem);
                    }
                },
            }
        }
        list
    }

    /// Adds our agents without a replacement, and leaves out agents that are invalid together with others.
    fn leave_out_invalid(
        &self,
        mut agents: Vec<ReadAgent>,
        language: Language,
        problems: &mut Vec<FileProblem>,
    ) -> Vec<ReadAgent> {
        let shipped: Vec<ReadAgent> =
            shipped_agents(language).iter().filter_map(|file| read_agent(file).ok()).collect();
        let find_shipped = |name: &str| shipped.iter().find(|shipped| shipped.spec.name == name);
        agents.retain(|agent| {
            let name = &agent.spec.name;
            let hides_mode = find_shipped(name).is_some_and(|shipped| shipped.spec.entry);
            if hides_mode && !agent.spec.entry {
                let rule = format!(
                    "`name` is `{name}`, a mode of Djinn: add `entry: true`, or choose another name"
                );
                let path = agent.path().to_owned();
                let line = agent.line_of("name");
                add_once(problems, FileProblem { path, line, rule });
                return false;
            }
            true
        });
        let is_agent = |name: &&String| {
            find_shipped(name).is_some() || agents.iter().any(|agent| agent.spec.name == **name)
        };
        let file_tools = self.file_tools.iter().filter(|name| !is_agent(name));
        let tools: BTreeSet<String> = self.tools.iter().chain(file_tools).cloned().collect();
        let mut left_out = BTreeSet::new();
        loop {
            let is_used = |agent: &&ReadAgent| !left_out.contains(agent.path());
            let own = || agents.iter().filter(is_used);
            let names: BTreeSet<&str> = own().map(|agent| agent.spec.name.as_str()).collect();
            let ours = shipped.iter().filter(is_used);
            let ours = ours.filter(|shipped| !names.contains(shipped.spec.name.as_str()));
            let all: Vec<ReadAgent> = own().chain(ours).cloned().collect();
            let faults = check_agents(&all, &tools);
            let Some(invalid) = faults.first().map(|problem| problem.path.clone()) else {
                return all;
            };
            for problem in faults.into_iter().filter(|problem| problem.path == invalid) {
                add_once(problems, problem);
            }
            left_out.insert(invalid);
        }
    }
}

fn read_text(
    path: &str,
    text: &Result<Arc<str>, String>,
    language: Language,
    entry: bool,
) -> Result<(Arc<str>, ReadAgent), FileProblem> {
    match text {
        Ok(text) => {
            let agent = read_agent(&AgentFile { path, text, language, entry })?;
            Ok((Arc::clone(text), agent))
        }
        Err(rule) => {
            Err(FileProblem { path: path.to_owned(), line: 1, rule: format!("it {rule}") })
        }
    }
}

fn add_once(problems: &mut Vec<FileProblem>, problem: FileProblem) {
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// Finds an offered name that no agent has. Returns the problem as the rest of a sentence.
#[must_use]
pub fn find_unknown_agent(offered: &OfferedAgents, agents: &[Arc<dyn Tool>]) -> Option<String> {
    let OfferedAgents::Named(names) = offered else { return None };
    let existing: BTreeSet<String> =
        agents.iter().map(|agent| agent.spec(Language::En).name).collect();
    let unknown = names.iter().find(|name| !existing.contains(*name))?;
    let nearest = find_near_miss(unknown, existing.iter().map(String::as_str));
    let hint = nearest.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
    let list: Vec<String> = existing.into_iter().collect();
    Some(format!("names `{unknown}`, which is no agent: {hint}there are {}", list.join(", ")))
}

#[cfg(test)]
mod tests;
