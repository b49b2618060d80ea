//! What a tool has for its next call.

use serde::{Deserialize, Serialize};

/// Bytes that a tool keeps from one call of a run to the next. Nobody else reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolState {
    /// The object of the session that holds them, as a file's is named.
    pub object: String,
    /// How many there are.
    pub size: u64,
}
