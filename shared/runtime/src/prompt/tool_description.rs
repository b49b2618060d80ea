//! What stands in the file of a tool's description.

use std::collections::BTreeMap;

/// What a model is told about a tool and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDescription {
    /// The description of the tool itself.
    pub description: String,
    /// About each parameter, by name.
    pub parameters: BTreeMap<String, String>,
}
