//! The modes that users can start.

use serde::Serialize;
use serde_json::Value;

/// The modes: the default mode, then the others in the order of their names.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModeListBody {
    /// The modes.
    pub modes: Vec<ModeBody>,
}

/// An agent that users can start.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModeBody {
    /// The name for `mode` in a question.
    pub name: String,
    /// The name for users.
    pub title: String,
    /// The purpose of the mode.
    pub description: String,
    /// True for the mode of a question that names none.
    pub is_default: bool,
    /// The `agentType` in JoyAgent's protocol; absent for a mode without a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<u16>,
    /// The JSON Schema of `arguments`.
    pub parameters: Value,
}
