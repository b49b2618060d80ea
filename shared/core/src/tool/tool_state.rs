//! State that a tool keeps for its next call.

use serde::{Deserialize, Serialize};

/// Bytes that a tool keeps from one call of a run to the next. Only the tool reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolState {
    /// The key of the session's object that holds the bytes.
    pub object: String,
    /// The number of bytes.
    pub size: u64,
    /// The tool whose state this is, if a call of another tool replaces that state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}
