//! The channel of a response.

use serde::{Deserialize, Serialize};

/// The channel of a response that the named user did not give in person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResponseChannel {
    /// A signed link, used by any holder.
    Link,
    /// A tool of the MCP server, called by a model with the user's credentials.
    Mcp,
}
