//! The channel of a response.

use serde::{Deserialize, Serialize};

/// How an answer came, if not with the credentials of whom it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResponseChannel {
    /// By a signed link, whoever had it.
    Link,
}
