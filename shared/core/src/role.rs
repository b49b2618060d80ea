//! Purposes of model calls.

use serde::{Deserialize, Serialize};

/// The purpose of a model call; each role may have its own model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A turn of the ReAct loop.
    React,
    /// The call that writes the closing summary.
    Summary,
    /// A turn of the planner.
    Planner,
    /// A turn of a task's agent.
    Executor,
    /// A summary of the older turns of a long conversation.
    Compactor,
    /// The names of a task's digital employees.
    Employees,
    /// A turn of an agent for code.
    Code,
    /// A turn of an agent for reports.
    Report,
    /// A turn of an agent for searches.
    Search,
    /// A turn of an agent for questions over tables.
    Data,
    /// A turn of an agent for analyses of tables.
    Analysis,
    /// A turn of an agent that chooses who answers.
    Router,
    /// A turn of an agent that judges the answers of others.
    Critic,
    /// A turn of an agent of an ensemble with a second model. The role has no model unless a deployment
    /// configures its model.
    Second,
}

impl Role {
    /// Every role for which a deployment can configure a model.
    pub const ALL: &[Self] = &[
        Self::React,
        Self::Summary,
        Self::Planner,
        Self::Executor,
        Self::Compactor,
        Self::Employees,
        Self::Report,
        Self::Search,
        Self::Code,
        Self::Data,
        Self::Analysis,
        Self::Router,
        Self::Critic,
        Self::Second,
    ];

    /// Returns the role's word in settings, logs and spans.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::React => "react",
            Self::Summary => "summary",
            Self::Planner => "planner",
            Self::Executor => "executor",
            Self::Compactor => "compactor",
            Self::Employees => "employees",
            Self::Code => "code",
            Self::Data => "data",
            Self::Analysis => "analysis",
            Self::Report => "report",
            Self::Search => "search",
            Self::Router => "router",
            Self::Critic => "critic",
            Self::Second => "second",
        }
    }
}
