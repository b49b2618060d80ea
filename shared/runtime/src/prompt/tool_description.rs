//! The description of a tool, parsed from a fragment's file.

use std::collections::BTreeMap;

use djinn_core::language::Language;

use super::{Fragment, Prompts};

/// The model's description of a tool and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDescription {
    /// The description of the tool itself.
    pub description: String,
    /// The description of each parameter, by name.
    pub parameters: BTreeMap<String, String>,
}

impl Prompts {
    /// Returns the description of a tool: the fragment's text up to the first heading, and each
    /// `## parameter` section.
    pub fn describe_tool(&self, language: Language, fragment: Fragment) -> ToolDescription {
        let text = self.render(language, fragment, ());
        let mut sections = text.split("\n## ");
        let description = sections.next().unwrap_or_default().trim().to_owned();
        let parameters = sections
            .filter_map(|section| section.split_once('\n'))
            .map(|(name, words)| (name.trim().to_owned(), words.trim().to_owned()))
            .collect();
        ToolDescription { description, parameters }
    }
}
