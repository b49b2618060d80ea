//! What models are called for.

use serde::{Deserialize, Serialize};

/// What a model is asked for; each role may have a model of its own.
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
    /// Summing up the older turns of a conversation that grows too long.
    Compactor,
    /// Naming a task's digital employees.
    Employees,
    /// A turn of an agent that writes code.
    Code,
    /// A turn of an agent that writes a report.
    Report,
    /// A turn of an agent that searches.
    Search,
}

impl Role {
    /// Every role that a deployment can configure a model for.
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
    ];

    /// The word used in settings, logs and spans.
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
            Self::Report => "report",
            Self::Search => "search",
        }
    }
}
