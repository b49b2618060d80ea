//! What a run below another one is started with.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Revision;
use crate::agent::AgentSpec;
use crate::conversation::ChildReport;
use crate::id::{ChildId, Path};

/// What a run below another one is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildSpec {
    /// What the run above calls it: the step that it works on and which attempt at it this is, or the call
    /// that it answers.
    #[serde(alias = "task")]
    pub child: ChildId,
    /// The way from the root of the tree to the run above.
    #[serde(default, skip_serializing_if = "Path::is_root")]
    pub above: Path,
    /// What it is to do, as one line: of a step `stage: details`.
    pub description: String,
    /// The agent that works on it; none for a step that names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Box<AgentSpec>>,
    /// The tools and agents that a step of an agent's plan is offered; nothing where the deployment's are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// What the agent was called with.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// Reports of the children of earlier rounds, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_rounds: Vec<ChildReport>,
    /// What came of the steps of this round that it builds on, in the plan's order.
    pub current_round: Vec<ChildReport>,
    /// Runs of its level that may be at work at the same time; they share what viewers can be sent.
    #[serde(default, alias = "concurrent_tasks")]
    pub concurrent_children: u32,
    /// How many runs below it may have invocations of their own at the same time. Without any, it drives
    /// them itself, one after another.
    #[serde(default)]
    pub places: u32,
    /// Whether an answer that its caller cannot be shown whole is kept as a file (default no, as in old
    /// records).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_answer: bool,
    /// When its run needs its outcome at the latest, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<i64>,
    /// The report of the attempt before this one, if that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_failure: Option<Box<ChildReport>>,
    /// What the user wants otherwise than the attempt before had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// Whether its run has read text that anybody may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

impl ChildSpec {
    /// The way from the root of the tree to this run.
    #[must_use]
    pub fn path(&self) -> Path {
        self.above.with_child(self.child.clone())
    }

    /// What came of the children before it, oldest round first.
    pub fn reports(&self) -> impl Iterator<Item = &ChildReport> {
        self.earlier_rounds.iter().chain(&self.current_round)
    }
}
