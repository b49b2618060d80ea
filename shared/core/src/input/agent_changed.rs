//! A hand-over of the run to another agent.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::AgentSpec;
use crate::id::CallId;

/// The agent that takes the run over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentChanged {
    /// The call that handed the run over.
    pub call: CallId,
    /// The agent, with the content of its file.
    pub agent: Box<AgentSpec>,
    /// The arguments in the call, with their defaults. The question of the run stays the same.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
}
