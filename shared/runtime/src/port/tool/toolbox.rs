//! The tools that an audience is offered: a deployment's own, and those of its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use djinn_core::human::ASK_USER;
use djinn_core::input::RunSpec;
use djinn_core::language::Language;
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::tool::{EffectClass, ToolSpec};
use futures::future::join_all;

use super::Tool;
use super::source::{ToolAudience, ToolSource};
use super::source_cache::SourceCache;
use crate::port::clock::Clock;

/// The names of tools that a run answers itself: neither a deployment nor a source can offer others in
/// their place.
pub const RESERVED_NAMES: [&str; 2] = [ASK_USER, PLANNING_TOOL];

/// How long an answer of a source holds, unless a test says otherwise.
const FRESH: Duration = Duration::from_secs(5);

/// The tools of a deployment, by name, and the sources of more. Copies share what sources answered.
#[derive(Clone)]
pub struct Toolbox {
    own: Arc<BTreeMap<String, Arc<dyn Tool>>>,
    sources: Vec<Arc<SourceCache>>,
    offered_agents: OfferedAgents,
    sources_fresh: Duration,
}

impl Default for Toolbox {
    fn default() -> Self {
        Self {
            own: Arc::default(),
            sources: Vec::new(),
            offered_agents: OfferedAgents::default(),
            sources_fresh: FRESH,
        }
    }
}

/// The agents that users' runs, and the tasks of their plans, are offered. Agents are offered those that their
/// files name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfferedAgents {
    /// Every agent of the deployment.
    All,
    /// Those of these names.
    Named(BTreeSet<String>),
}

impl Default for OfferedAgents {
    fn default() -> Self {
        Self::Named(BTreeSet::new())
    }
}

impl Toolbox {
    /// Registers a tool that everybody is offered; one of the same name is replaced.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Tool + 'static) -> Self {
        let name = tool.spec(Language::En).name;
        Arc::make_mut(&mut self.own).insert(name, Arc::new(tool));
        self
    }

    /// Asks this source for tools, too. Of two tools of the same name the deployment's own is offered, or
    /// that of the source which was added first.
    #[must_use]
    pub fn with_source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.sources.push(Arc::new(SourceCache::new(source)));
        self
    }

    /// Offers these agents to users' runs; without this, none.
    #[must_use]
    pub fn with_offered_agents(self, offered_agents: OfferedAgents) -> Self {
        Self { offered_agents, ..self }
    }

    /// Asks each source again when its last answer is as old as this.
    #[must_use]
    pub fn with_sources_fresh(self, sources_fresh: Duration) -> Self {
        Self { sources_fresh, ..self }
    }

    /// The agents that users' runs are offered.
    #[must_use]
    pub fn offered_agents(&self) -> &OfferedAgents {
        &self.offered_agents
    }

    /// The tools that everybody is offered, by name.
    pub fn own_tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.own.values()
    }

    /// What everybody is told of the own tools, in the order of their names.
    #[must_use]
    pub fn specs(&self, language: Language) -> Vec<ToolSpec> {
        self.own.values().map(|tool| tool.spec(language)).collect()
    }

    /// The own tool of that name. A call asks [`Self::list_tools`], since its tool may be a source's.
    #[must_use]
    pub fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.own.get(name).cloned()
    }

    /// What is asked for more tools, in order.
    pub fn sources(&self) -> impl Iterator<Item = &Arc<dyn ToolSource>> {
        self.sources.iter().map(|cache| cache.source())
    }

    /// The tools that an audience is offered now. Takes five seconds at most, and no time where every
    /// source answered within the last five.
    pub async fn list_tools<C: Clock>(&self, clock: &C, audience: &ToolAudience) -> AvailableTools {
        let mut available = AvailableTools {
            tools: BTreeMap::clone(&self.own),
            is_complete: true,
            offered_agents: self.offered_agents.clone(),
        };
        let fresh = self.sources_fresh;
        let answers = self.sources.iter().map(|cache| cache.list_tools(clock, fresh, audience));
        for (cache, answer) in self.sources.iter().zip(join_all(answers).await) {
            match answer {
                Some(tools) => available.add_tools(cache.source().name(), &tools),
                None => available.is_complete = false,
            }
        }
        available
    }

    /// What is wrong now with what sources make their tools of. Only those that tell of it are asked.
    pub async fn list_problems<C: Clock>(&self, clock: &C, audience: &ToolAudience) -> Vec<String> {
        let mut problems = Vec::new();
        for cache in &self.sources {
            if cache.source().list_problems().is_some() {
                cache.list_tools(clock, self.sources_fresh, audience).await;
                problems.extend(cache.source().list_problems().unwrap_or_default());
            }
        }
        problems
    }
}

/// The tools that an audience is offered at some moment.
#[derive(Clone, Default)]
pub struct AvailableTools {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    is_complete: bool,
    offered_agents: OfferedAgents,
}

impl AvailableTools {
    /// What a turn is told of them, in the order of their names.
    #[must_use]
    pub fn specs(&self, language: Language) -> Vec<ToolSpec> {
        self.tools.values().map(|tool| tool.spec(language)).collect()
    }

    /// What a turn of this run is told of them: of an agent's, and of the steps of its plan, those that its file names; of any other all but
    /// the agents that the deployment does not offer, and the tools that only agents have.
    #[must_use]
    pub fn specs_for(&self, run: &RunSpec) -> Vec<ToolSpec> {
        let mut specs = self.specs(run.settings.language);
        let is_for_agents =
            |name: &String| self.tools.get(name).is_some_and(|tool| tool.is_for_agents_only());
        let of_agent = run.agent().map(|agent| &agent.tools);
        let of_plan = || run.child.as_ref().and_then(|child| child.tools.as_ref());
        specs.retain(|tool| match (of_agent.or_else(of_plan), &self.offered_agents) {
            (Some(named), _) => named.contains(&tool.name),
            (None, _) if is_for_agents(&tool.name) => false,
            (None, OfferedAgents::All) => true,
            (None, OfferedAgents::Named(names)) => {
                tool.effect != EffectClass::Agent || names.contains(&tool.name)
            }
        });
        specs
    }

    /// The tool of that name.
    #[must_use]
    pub fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(name).cloned()
    }

    /// Whether every source has said at least once which tools it has.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn add_tools(&mut self, source: &str, tools: &[Arc<dyn Tool>]) {
        for tool in tools {
            let name = tool.spec(Language::En).name;
            if RESERVED_NAMES.contains(&name.as_str()) || self.tools.contains_key(&name) {
                tracing::warn!(source, tool = name, "the name of a listed tool is taken");
                continue;
            }
            self.tools.insert(name, Arc::clone(tool));
        }
    }
}
