//! Settings that are fixed at the start of a run. Record 0 holds them, so that folding a journal never reads
//! the environment.

use std::collections::BTreeMap;

pub use crate::role::Role;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::human::HumanSettings;
use crate::language::Language;
use crate::time_zone::TimeZone;

/// The name of the mode of a question that names none.
pub const DEFAULT_MODE: &str = "react";

/// The state machine that works on a question: the key `mode` of an agent file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Machine {
    /// Reason, act, observe, until no work is left (`agentType` 5 of the JoyAgent protocol).
    #[default]
    React,
    /// Plan, work on the steps in parallel, review the results and plan again (`agentType` 3 of the JoyAgent
    /// protocol).
    PlanSolve,
    /// Work on the steps of a workflow, without a planner (`agentType` 2 of the JoyAgent protocol).
    Workflow,
}

impl Machine {
    /// Every machine, for parsers and tests.
    pub const ALL: [Self; 3] = [Self::React, Self::PlanSolve, Self::Workflow];

    /// Returns the machine's word in agent files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::React => "react",
            Self::PlanSolve => "plan_solve",
            Self::Workflow => "workflow",
        }
    }

    /// Parses the machine's word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|machine| machine.as_str() == word)
    }

    /// Returns true if the machine works on the steps of a plan.
    #[must_use]
    pub fn has_plan(self) -> bool {
        match self {
            Self::React => false,
            Self::PlanSolve | Self::Workflow => true,
        }
    }

    /// Returns the machine of workflows.
    #[must_use]
    pub fn of_workflows() -> Self {
        Self::Workflow
    }

    /// Returns true if the machine works on a workflow, which only the root of a tree can have.
    #[must_use]
    pub fn has_workflow(self) -> bool {
        self == Self::Workflow
    }
}

impl From<Machine> for String {
    fn from(machine: Machine) -> Self {
        machine.as_str().to_owned()
    }
}

/// The model of a role that makes a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelChoice {
    /// The role's own model, which is called first.
    #[default]
    Primary,
    /// The model that is called when the role's own model cannot answer.
    Fallback,
}

/// The form of the answer, with the names of the JoyAgent protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OutputStyle {
    /// A web page, as one HTML file.
    Html,
    /// A document, as one Markdown file.
    Docs,
    /// A table, as one CSV file.
    Table,
    /// A slide deck, as one HTML file.
    Ppt,
    /// An analysis of tables: the run has only the tools for analyses and reports, and those of tool sources.
    #[serde(rename = "dataAgent")]
    DataAgent,
}

impl OutputStyle {
    /// Every style, for parsers and tests.
    pub const ALL: &[Self] = &[Self::Html, Self::Docs, Self::Table, Self::Ppt, Self::DataAgent];

    /// Returns the word of the protocol, which is also the prompt's file name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Docs => "docs",
            Self::Table => "table",
            Self::Ppt => "ppt",
            Self::DataAgent => "dataAgent",
        }
    }

    /// Parses the word of the protocol.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|style| style.as_str() == word)
    }
}

/// The condition for a closing model call that writes the answer of completed work. Incomplete work and plans
/// always have a summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryPolicy {
    /// Only if the last reply is not the answer: the reply is empty, or ends a reply that was cut off.
    #[default]
    WhenNeeded,
    /// After all work of more than one reply.
    Always,
}

impl SummaryPolicy {
    /// Every policy, for parsers and tests.
    pub const ALL: &[Self] = &[Self::WhenNeeded, Self::Always];

    /// Returns the word in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WhenNeeded => "when_needed",
            Self::Always => "always",
        }
    }
}

/// The limits and options of Plan-Solve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanSettings {
    /// Maximum steps of a plan, 1-1 000, default 100.
    pub max_steps: u32,
    /// Maximum tasks at work at the same time, 1-1 000, default 10; other tasks wait.
    pub max_parallel_tasks: u32,
    /// Maximum rounds of tasks, 1-100, default 40. At the limit, the run sums up its results.
    pub max_rounds: u32,
    /// Maximum turns of a run and its tasks together, 1-100 000, default 10 000. A task receives a share.
    pub max_run_turns: u32,
    /// Maximum turns of one task's agent, 1-1 000, default 40.
    pub max_task_turns: u32,
    /// True if completed steps end the work without another planner turn (default false).
    pub ends_when_complete: bool,
    /// True if a task's tool calls and results stay out of its run's conversation (default true).
    pub clear_tool_context: bool,
    /// True if a model names a role for each tool of a task, for viewers (default false).
    pub employees: bool,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self {
            max_steps: 100,
            max_parallel_tasks: 10,
            max_rounds: 40,
            max_run_turns: 10_000,
            max_task_turns: 40,
            ends_when_complete: false,
            clear_tool_context: true,
            employees: false,
        }
    }
}

/// The conditions for a summary of a conversation's older turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextSettings {
    /// Percent of the model's input limit that a conversation may use, 50-95, default 80.
    pub compact_at_percent: u32,
    /// The number of newest turns without a summary, 1-100, default 4. They may use at most half of the
    /// limit; the newest turn is always kept.
    pub keep_turns: u32,
    /// Input limit in tokens of each role's model at the start of the run. The limit in a reply replaces it.
    pub input_limits: BTreeMap<Role, u64>,
    /// Input limits in tokens by model name, learned from providers that rejected larger requests.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub learned_limits: BTreeMap<String, u64>,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self {
            compact_at_percent: 80,
            keep_turns: 4,
            input_limits: BTreeMap::new(),
            learned_limits: BTreeMap::new(),
        }
    }
}

/// The settings of a run, fixed at its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// The mode: the name of the agent at the root of the tree, the same for every run of the tree. For a root
    /// without an agent, the word of its machine.
    pub mode: String,
    /// The language of the prompts.
    pub language: Language,
    /// The time zone of the date in prompts, and of times in tables (default UTC, as in old records).
    #[serde(default, skip_serializing_if = "TimeZone::is_utc")]
    pub time_zone: TimeZone,
    /// The budget of the run.
    pub budget: Budget,
    /// The condition for a closing call that writes the answer (default when needed). `None` in records from
    /// before this setting: always, and no message is marked as the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_policy: Option<SummaryPolicy>,
    /// Maximum calls of one turn at the same time, 1-64, default 4.
    pub max_parallel_tool_calls: u32,
    /// Maximum calls at the same time for each named tool, at least 1. Other tools have no separate limit
    /// (default none, as in old records).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub max_parallel_per_tool: BTreeMap<String, u32>,
    /// Maximum calls of one turn, default 32; further calls fail with `too_many`.
    pub max_tool_calls_per_turn: u32,
    /// Maximum characters of a tool's result in the model view, default 10 000.
    pub max_result_chars: u32,
    /// The limits and options of Plan-Solve.
    #[serde(default)]
    pub plan: PlanSettings,
    /// The conditions for a summary of older turns.
    #[serde(default)]
    pub context: ContextSettings,
    /// True if models see placeholders for long URLs (default false, as in old records).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compress_urls: bool,
    /// True if data that identifies a person is masked in tool results (default false, as in old records).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mask_pii: bool,
    /// The settings for human requests.
    #[serde(default)]
    pub human: HumanSettings,
    /// SHA-256 of the prompts at the start (informative: calls use the prompts of the executing code).
    pub prompt_version: String,
    /// The name of each role's configured model in the settings (informative).
    pub models: BTreeMap<Role, String>,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            mode: DEFAULT_MODE.to_owned(),
            language: Language::default(),
            time_zone: TimeZone::default(),
            budget: Budget::default(),
            summary_policy: Some(SummaryPolicy::default()),
            max_parallel_tool_calls: 4,
            max_parallel_per_tool: BTreeMap::new(),
            max_tool_calls_per_turn: 32,
            max_result_chars: 10_000,
            plan: PlanSettings::default(),
            context: ContextSettings::default(),
            compress_urls: false,
            mask_pii: false,
            human: HumanSettings::default(),
            prompt_version: String::new(),
            models: BTreeMap::new(),
        }
    }
}
