//! The description of a tool, parsed from a fragment's file.

use std::collections::BTreeMap;

/// The model's description of a tool and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDescription {
    /// The description of the tool itself.
    pub description: String,
    /// The description of each parameter, by name.
    pub parameters: BTreeMap<String, String>,
}
