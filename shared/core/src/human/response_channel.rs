//! The channel of a response.

use serde::{Deserialize, Serialize};

/// The channel of a response without the named user's credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResponseChannel {
    /// A signed link, used by any holder.
    Link,
}
