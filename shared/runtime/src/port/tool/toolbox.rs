//! The tools for an audience: a deployment's own, and those of its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use djinn_core::agent::{ALL_TOOLS, AgentSpec, to_hand_over};
use djinn_core::human::ASK_USER;
use djinn_core::input::RunSpec;
use djinn_core::language::Language;
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::settings::OutputStyle;
use djinn_core::tool::{EffectClass, ToolSpec};
use futures::future::join_all;

use super::Tool;
use super::source::{ToolAudience, ToolSource};
use super::source_cache::SourceCache;
use crate::port::clock::Clock;

/// The names of tools that a run answers itself, and the word for all tools: neither a deployment nor a source can
/// have such a tool.
pub const RESERVED_NAMES: [&str; 3] = [ALL_TOOLS, ASK_USER, PLANNING_TOOL];

/// The agents for questions about the analysis of tables.
const ANALYSIS_TOOLS: [&str; 2] = ["data_analysis", "report_tool"];

/// The lifetime of a source's cached answer, except in tests.
const FRESH: Duration = Duration::from_secs(5);

/// A deployment's own tools by name, and its tool sources. Copies share the cached answers.
#[derive(Clone)]
pub struct Toolbox {
    own: Arc<BTreeMap<String, Arc<dyn Tool>>>,
    sources: Vec<Arc<SourceCache>>,
    offered_agents: OfferedAgents,
    agents: Arc<[Arc<dyn Tool>]>,
    sources_fresh: Duration,
}

impl Default for Toolbox {
    fn default() -> Self {
        Self {
            own: Arc::default(),
            sources: Vec::new(),
            offered_agents: OfferedAgents::default(),
            agents: Arc::default(),
            sources_fresh: FRESH,
        }
    }
}

/// The agents offered to users' runs and to the tasks of their plans. Agents are offered only the agents
/// named by their files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferedAgents {
    /// Every agent of the deployment that is not a mode.
    All,
    /// The agents with these names.
    Named(BTreeSet<String>),
}

impl Default for OfferedAgents {
    fn default() -> Self {
        Self::Named(BTreeSet::new())
    }
}

impl Toolbox {
    /// Registers a tool for every audience; replaces a tool of the same name.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Tool + 'static) -> Self {
        let name = tool.name();
        Arc::make_mut(&mut self.own).insert(name, Arc::new(tool));
        self
    }

    /// Adds a source of tools. Of two tools with the same name, the deployment's own tool is offered, or else
    /// the tool of the source added first.
    #[must_use]
    pub fn with_source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.sources.push(Arc::new(SourceCache::new(source)));
        self
    }

    /// Offers these agents to users' runs; the default is no agent.
    #[must_use]
    pub fn with_offered_agents(self, offered_agents: OfferedAgents) -> Self {
        Self { offered_agents, ..self }
    }

    /// Sets the deployment's agents, modes included. A tool of the same name from elsewhere is offered instead.
    #[must_use]
    pub fn with_agents(self, agents: Arc<[Arc<dyn Tool>]>) -> Self {
        Self { agents, ..self }
    }

    /// Returns the deployment's agents.
    #[must_use]
    pub fn agents(&self) -> &Arc<[Arc<dyn Tool>]> {
        &self.agents
    }

    /// Sets the lifetime of a source's cached answer (default 5 s).
    #[must_use]
    pub fn with_sources_fresh(self, sources_fresh: Duration) -> Self {
        Self { sources_fresh, ..self }
    }

    /// Returns the agents offered to users' runs.
    #[must_use]
    pub fn offered_agents(&self) -> &OfferedAgents {
        &self.offered_agents
    }

    /// Returns the deployment's own tools, by name.
    pub fn own_tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.own.values()
    }

    /// Returns the names of the deployment's own tools.
    #[must_use]
    pub fn own_tool_names(&self) -> BTreeSet<String> {
        self.own.keys().cloned().collect()
    }

    /// Returns the specs of the own tools, in the order of their names.
    #[must_use]
    pub fn specs(&self, language: Language) -> Vec<ToolSpec> {
        self.own.values().map(|tool| tool.spec(language)).collect()
    }

    /// Returns the own tool of this name. Calls use [`Self::list_tools`] instead, since a source may offer
    /// the tool.
    #[must_use]
    pub fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.own.get(name).cloned()
    }

    /// Returns the tool sources, in order.
    pub fn sources(&self) -> impl Iterator<Item = &Arc<dyn ToolSource>> {
        self.sources.iter().map(|cache| cache.source())
    }

    /// Returns the tools for an audience now. Takes at most five seconds, and no time if every answer is
    /// cached.
    pub async fn list_tools<C: Clock>(&self, clock: &C, audience: &ToolAudience) -> AvailableTools {
        let mut available = AvailableTools {
            tools: BTreeMap::clone(&self.own),
            of_sources: BTreeSet::new(),
            is_complete: true,
            offered_agents: self.offered_agents.clone(),
        };
        let fresh = self.sources_fresh;
        let listings = self.sources.iter().map(|cache| cache.list_tools(clock, fresh, audience));
        for (cache, listing) in self.sources.iter().zip(join_all(listings).await) {
            match listing {
                Some(tools) => {
                    let names = available.add_tools(cache.source().name(), &tools);
                    available.of_sources.extend(names);
                }
                None => available.is_complete = false,
            }
        }
        available.add_tools("agents", &self.agents);
        available
    }

    /// Returns the agents that users can start, in the order of their names.
    #[must_use]
    pub fn list_modes(&self, language: Language) -> Vec<AgentSpec> {
        let agents = self.agents.iter().filter_map(|tool| tool.agent(language));
        let by_name: BTreeMap<String, AgentSpec> =
            agents.map(|agent| (agent.name.clone(), agent)).collect();
        by_name.into_values().filter(|agent| agent.entry).collect()
    }
}

/// The tools for an audience at one moment.
#[derive(Clone, Default)]
pub struct AvailableTools {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    of_sources: BTreeSet<String>,
    is_complete: bool,
    offered_agents: OfferedAgents,
}

impl AvailableTools {
    /// Returns the specs for a turn, in the order of their names.
    #[must_use]
    pub fn specs(&self, language: Language) -> Vec<ToolSpec> {
        self.tools.values().map(|tool| tool.spec(language)).collect()
    }

    /// Returns the specs for a turn of this run. An agent, and the steps of an agent's plan, are offered the
    /// tools named by the agent's file. [`ALL_TOOLS`] in the file adds the tools of any other run: all tools,
    /// except agents that the deployment does not offer, and tools only for agents. For a question about the
    /// analysis of tables, these are the tools in `ANALYSIS_TOOLS` and those of sources.
    #[must_use]
    pub fn specs_for(&self, run: &RunSpec) -> Vec<ToolSpec> {
        let of_plan = run.child.as_ref().and_then(|child| child.tools.as_ref());
        self.list_specs(run.agent(), of_plan, run.output_style, run.settings.language)
    }

    /// Returns the specs for a turn of a user's run in this mode, as [`Self::specs_for`] does.
    #[must_use]
    pub fn specs_for_mode(&self, mode: &AgentSpec, language: Language) -> Vec<ToolSpec> {
        self.list_specs(Some(mode), None, None, language)
    }

    /// Returns the specs for an agent, or for a step of an agent's plan with the tools `of_plan`.
    fn list_specs(
        &self,
        agent: Option<&AgentSpec>,
        of_plan: Option<&Vec<String>>,
        style: Option<OutputStyle>,
        language: Language,
    ) -> Vec<ToolSpec> {
        let names = agent.map(|agent| &agent.tools).or(of_plan);
        let is_limited = names.is_some_and(|names| names.iter().all(|name| name != ALL_TOOLS));
        let agent_name = agent.map(|agent| agent.name.as_str());
        // Most tools are left out by their name: only the specs of the others are built, for each turn.
        let spec_for_run = |(name, tool): (&String, &Arc<dyn Tool>)| {
            if !tool.is_offered_to(agent_name) {
                return None;
            }
            if names.is_some_and(|names| names.contains(name)) {
                return Some(tool.spec(language));
            }
            let is_for_style = style != Some(OutputStyle::DataAgent)
                || ANALYSIS_TOOLS.contains(&name.as_str())
                || self.of_sources.contains(name);
            let is_offered_agent = match &self.offered_agents {
                OfferedAgents::All => !tool.is_mode(),
                OfferedAgents::Named(names) => names.contains(name),
            };
            let is_left_out = is_limited || !is_for_style || tool.is_for_agents_only();
            if is_left_out || (tool.is_mode() && !is_offered_agent) {
                return None;
            }
            let spec = tool.spec(language);
            (spec.effect != EffectClass::Agent || is_offered_agent).then_some(spec)
        };
        let mut specs: Vec<ToolSpec> = self.tools.iter().filter_map(spec_for_run).collect();
        let next_agents = agent.map(|agent| self.list_next_agents(agent, language));
        for next in next_agents.into_iter().flatten() {
            specs.retain(|tool| tool.name != next.name);
            specs.push(next);
        }
        specs
    }

    /// Returns the agents to which an agent can hand its run over, as tools. [`ALL_TOOLS`] adds every mode
    /// that does not hand over itself.
    fn list_next_agents(&self, agent: &AgentSpec, language: Language) -> Vec<ToolSpec> {
        let names = &agent.hands_over;
        if names.is_empty() {
            return Vec::new();
        }
        let has_all = names.iter().any(|name| name == ALL_TOOLS);
        let can_follow = |tool: &dyn Tool| {
            let next = tool.agent(language);
            next.is_some_and(|next| {
                let is_free_mode = next.entry && next.hands_over.is_empty();
                names.contains(&next.name) || (has_all && is_free_mode && next.name != agent.name)
            })
        };
        let next_agents = self.tools.values().filter(|tool| can_follow(&***tool));
        next_agents.map(|tool| to_hand_over(tool.spec(language))).collect()
    }

    /// Returns the tool of this name.
    #[must_use]
    pub fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(name).cloned()
    }

    /// Returns true if every source has answered at least once.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Adds tools with free names. Returns these names.
    fn add_tools(&mut self, source: &str, tools: &[Arc<dyn Tool>]) -> Vec<String> {
        let mut names = Vec::new();
        for tool in tools {
            // Users start workflows; no run has them as tools.
            if tool.is_workflow() {
                continue;
            }
            let name = tool.name();
            if RESERVED_NAMES.contains(&name.as_str()) || self.tools.contains_key(&name) {
                tracing::warn!(source, tool = name, "the name of a listed tool is taken");
                continue;
            }
            self.tools.insert(name.clone(), Arc::clone(tool));
            names.push(name);
        }
        names
    }
}
