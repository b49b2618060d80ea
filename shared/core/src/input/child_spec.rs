//! The input at the start of a run below another run.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Revision;
use crate::agent::AgentSpec;
use crate::conversation::ChildReport;
use crate::id::{ChildId, Path};
use crate::role::Role;

/// The work of a run below another run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildSpec {
    /// The id of the child: its step and attempt, or the call that it answers.
    #[serde(alias = "task")]
    pub child: ChildId,
    /// The path from the root of the tree to the run above.
    #[serde(default, skip_serializing_if = "Path::is_root")]
    pub above: Path,
    /// The work of the child in one line; for a step `stage: details`.
    pub description: String,
    /// The tools and agents offered to a step of an agent's plan; `None` for those of a user's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The role whose model works as the child's agent, in place of the agent's own role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Role>,
    /// True if the step fails without its agent (default false: the step is then worked on without an agent).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_agent: bool,
    /// Reports of the children of earlier rounds, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_rounds: Vec<ChildReport>,
    /// The reports of this round's steps that the child depends on, in the plan's order.
    pub current_round: Vec<ChildReport>,
    /// Maximum runs of the same level at work at the same time. They share the limit of what viewers receive.
    #[serde(default, alias = "concurrent_tasks")]
    pub concurrent_children: u32,
    /// Maximum runs below that may have their own invocations at the same time. With 0 the child drives them
    /// itself, one after another.
    #[serde(default)]
    pub places: u32,
    /// True if an answer that is too long for the caller's model is kept as a file (default false, as in old
    /// records).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_answer: bool,
    /// The time at which the run above needs the result at the latest, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<i64>,
    /// The report of the previous attempt, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_failure: Option<Box<ChildReport>>,
    /// The user's change to the result of the previous attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// True if the run above has read text that anybody may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// The agent in records from before agents were part of [`RunSpec`](super::RunSpec).
    #[serde(default, rename = "agent", skip_serializing)]
    pub(crate) old_agent: Option<Box<AgentSpec>>,
    /// The arguments in such records.
    #[serde(default, rename = "arguments", skip_serializing)]
    pub(crate) old_arguments: Map<String, Value>,
}

impl ChildSpec {
    /// Creates the work of a child directly below the root, without reports and without places.
    #[must_use]
    pub fn new(child: ChildId, description: String) -> Self {
        Self {
            child,
            above: Path::default(),
            description,
            tools: None,
            model: None,
            needs_agent: false,
            earlier_rounds: Vec::new(),
            current_round: Vec::new(),
            concurrent_children: 1,
            places: 0,
            keeps_answer: false,
            deadline_ms: None,
            previous_failure: None,
            revision: None,
            tainted: false,
            old_agent: None,
            old_arguments: Map::new(),
        }
    }

    /// Returns the path from the root of the tree to this run.
    #[must_use]
    pub fn path(&self) -> Path {
        self.above.with_child(self.child.clone())
    }

    /// Iterates over the reports of earlier children, oldest round first.
    pub fn reports(&self) -> impl Iterator<Item = &ChildReport> {
        self.earlier_rounds.iter().chain(&self.current_round)
    }
}
