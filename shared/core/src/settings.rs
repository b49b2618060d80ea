//! What is decided when a run starts and holds until it ends: record 0 carries it, so that folding
//! a journal never asks the environment.

use std::collections::BTreeMap;

use djinn_calls::reply::WindowUsage;
pub use djinn_calls::role::Role;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::human::HumanSettings;
use crate::language::Language;

/// How a run works on its question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Reason, act, observe, until nothing is left to do (`agentType` 5 of the JoyAgent protocol).
    #[default]
    React,
    /// Plan, work on the steps side by side, look at what came of them and plan again (`agentType`
    /// 3 of the JoyAgent protocol).
    PlanSolve,
}

/// Which of a role's models makes a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModelChoice {
    /// The role's own model, which is asked first.
    #[default]
    Primary,
    /// The one that is asked when the role's own cannot answer.
    Fallback,
}

/// The form the answer should take. The names are the JoyAgent protocol's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OutputStyle {
    /// A web page, written as one HTML file.
    Html,
    /// A document, written as one Markdown file.
    Docs,
    /// A table, as CSV.
    Table,
    /// A deck of slides, written as one HTML file.
    Ppt,
}

impl OutputStyle {
    /// Every style, for parsers and tests.
    pub const ALL: &[Self] = &[Self::Html, Self::Docs, Self::Table, Self::Ppt];

    /// The word of the protocol, and the prompt's file name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Docs => "docs",
            Self::Table => "table",
            Self::Ppt => "ppt",
        }
    }

    /// Reads the word of the protocol.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|style| style.as_str() == word)
    }
}

/// When a closing model call writes the answer of a run whose work is done. Work that was broken off is
/// always summed up, and so is a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryPolicy {
    /// When the agent's last reply is not the answer: it says nothing, or is the end of a reply that was
    /// cut off.
    #[default]
    WhenNeeded,
    /// After all work that took more than one reply.
    Always,
}

impl SummaryPolicy {
    /// Every policy, for parsers and tests.
    pub const ALL: &[Self] = &[Self::WhenNeeded, Self::Always];

    /// The word used in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WhenNeeded => "when_needed",
            Self::Always => "always",
        }
    }
}

/// What Plan-Solve may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanSettings {
    /// Steps of a plan, 1-1 000, default 100.
    pub max_steps: u32,
    /// Tasks at work at once, 1-1 000, default 10; the others wait in the run's state.
    pub max_parallel_tasks: u32,
    /// Rounds of tasks, 1-100, default 40. Used up, the run sums up what there is.
    pub max_rounds: u32,
    /// Turns of a run and its tasks together, 1-100 000, default 10 000. A task is given a share.
    pub max_run_turns: u32,
    /// Turns of one task's agent, 1-1 000, default 40.
    pub max_task_turns: u32,
    /// Whether completed steps lead to the end without the planner being asked again (default no).
    pub ends_when_complete: bool,
    /// Whether a task's tool calls and their results stay out of its run's conversation (default
    /// yes).
    pub clear_tool_context: bool,
    /// Whether a model names a role for each tool of a task, for viewers (default no).
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

/// When older turns of a conversation are summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextSettings {
    /// Percent of the model's input limit that a conversation may take up, 50-95, default 80.
    pub compact_at_percent: u32,
    /// Newest turns that are not summed up, 1-100, default 4, as long as they take up no more than
    /// half of the limit; the newest never is.
    pub keep_turns: u32,
    /// Tokens of input that the model of each role took when the run began: what holds until a
    /// reply says otherwise.
    pub input_limits: BTreeMap<Role, u64>,
    /// Tokens of input that models take whose providers refused requests of more, by the models' names.
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

impl ContextSettings {
    /// Keeps the limit that a reply's record holds for a model, if requests of more were refused.
    pub(crate) fn learn_limit(&mut self, window: Option<&WindowUsage>) {
        if let Some(WindowUsage { limit, learned_for: Some(model), .. }) = window {
            self.learned_limits.insert(model.clone(), *limit);
        }
    }
}

/// The settings a run keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// The mode: one loop, or a plan with tasks.
    pub mode: Mode,
    /// The language of its prompts.
    pub language: Language,
    /// What it may use up.
    pub budget: Budget,
    /// When a closing call writes the answer (default when needed). `None` in records of before there was
    /// a choice: always, and no message is marked as the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_policy: Option<SummaryPolicy>,
    /// Calls of one turn that run at once, 1-64, default 4.
    pub max_parallel_tool_calls: u32,
    /// Calls of the tools named here that run at once, each at least 1; others have no bound of their
    /// own (default none, as in old records).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub max_parallel_per_tool: BTreeMap<String, u32>,
    /// Calls of one turn that run at all, default 32; the rest is answered `too_many`.
    pub max_tool_calls_per_turn: u32,
    /// Characters of a tool's result that the model sees, default 10 000.
    pub max_result_chars: u32,
    /// What Plan-Solve may do.
    #[serde(default)]
    pub plan: PlanSettings,
    /// When older turns are summed up.
    #[serde(default)]
    pub context: ContextSettings,
    /// Whether models see placeholders for long URLs (default no, as in old records).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compress_urls: bool,
    /// Whether what identifies a person is masked in tool results (default no, as in old records).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mask_pii: bool,
    /// When people are asked.
    #[serde(default)]
    pub human: HumanSettings,
    /// SHA-256 of the prompts it was started with (informative: the prompts of the code that
    /// performs a call are used).
    pub prompt_version: String,
    /// The configured model of each role, by its name in the settings (informative).
    pub models: BTreeMap<Role, String>,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            language: Language::default(),
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
