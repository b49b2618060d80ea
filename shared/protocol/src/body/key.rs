//! The caller's keys for tools.

use serde::Serialize;

/// The caller's keys, by name and origin. No route returns the value of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyListBody {
    /// The keys that tools need, and all stored keys.
    pub keys: Vec<KeyBody>,
}

/// A key without its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyBody {
    /// The name.
    pub name: String,
    /// The only origin that receives the key: scheme, host and port.
    pub origin: String,
    /// The names of the tools that need the key; empty for a stored key that no tool needs.
    pub tools: Vec<String>,
    /// True if you have set the key.
    pub is_set: bool,
    /// The time of the last change, Unix milliseconds; absent if the key is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_at_ms: Option<i64>,
}
