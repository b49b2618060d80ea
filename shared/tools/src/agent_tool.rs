//! An agent as a tool for models; a run one level down answers each call.

use djinn_agents::{check_arguments, read_agent, shipped_agents};
use djinn_core::agent::AgentSpec;
use djinn_core::language::Language;
use djinn_core::tool::{EffectClass, ToolFailure, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError};
use serde_json::{Map, Value};

/// A line of each file that every deployment has: of modes, and of the reviewer.
const ALWAYS_READ: [&str; 2] = ["\nentry: true\n", "\nname: reviewer\n"];

/// An agent with a description in each language.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTool {
    en: AgentSpec,
    zh: AgentSpec,
}

impl AgentTool {
    /// Creates the tool from an agent's files. An agent with a single language is the same in both.
    ///
    /// Returns `None` without files.
    #[must_use]
    pub fn of_files(en: Option<AgentSpec>, zh: Option<AgentSpec>) -> Option<Self> {
        let first = en.clone().or_else(|| zh.clone())?;
        Some(Self { en: en.unwrap_or_else(|| first.clone()), zh: zh.unwrap_or(first) })
    }

    /// Returns the modes that are part of Djinn, and the reviewer of questions that name none.
    #[must_use]
    pub fn list_always_shipped() -> Vec<Self> {
        let read = |language| {
            let files = shipped_agents(language).into_iter();
            // Other files are not read at a start.
            let is_read = |text: &str| ALWAYS_READ.iter().any(|line| text.contains(*line));
            let read_files = files.filter(|file| is_read(file.text));
            read_files.filter_map(|file| Some(read_agent(&file).ok()?.spec)).collect::<Vec<_>>()
        };
        let agents = read(Language::En).into_iter().zip(read(Language::Zh));
        agents.map(|(en, zh)| Self { en, zh }).collect()
    }

    fn agent_in(&self, language: Language) -> &AgentSpec {
        match language {
            Language::En => &self.en,
            Language::Zh => &self.zh,
        }
    }
}

impl Tool for AgentTool {
    fn spec(&self, language: Language) -> ToolSpec {
        let agent = self.agent_in(language);
        ToolSpec {
            name: agent.name.clone(),
            description: agent.description.clone(),
            schema: agent.parameters.clone(),
            effect: EffectClass::Agent,
            policy: ToolPolicy { risk: agent.risk, ..ToolPolicy::default() },
            // The agent's run has timeouts of its own.
            timeout_ms: u64::MAX,
            visible: true,
        }
    }

    fn name(&self) -> String {
        self.en.name.clone()
    }

    fn run<'a>(
        &'a self,
        _: &'a ToolContext,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        // Whoever drives the caller has a run answer the call.
        let reason = ToolFailure::Changed;
        let detail = String::new();
        Box::pin(async move { Err(ToolError::Failed { reason, detail }) })
    }

    fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        check_arguments(&self.en.parameters, arguments)
    }

    fn is_mode(&self) -> bool {
        self.en.entry || self.zh.entry
    }

    fn is_workflow(&self) -> bool {
        self.en.machine.has_workflow() || self.zh.machine.has_workflow()
    }

    fn agent(&self, language: Language) -> Option<AgentSpec> {
        Some(self.agent_in(language).clone())
    }
}
