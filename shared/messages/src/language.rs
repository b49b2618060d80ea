//! The languages of prompts, and of what users read.

use serde::{Deserialize, Serialize};

/// The language of prompts and of the sentences users read. The agent answers in the user's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English prompts and sentences, the default.
    #[default]
    En,
    /// Chinese prompts and sentences, in simplified characters.
    Zh,
}

impl Language {
    /// The folder under `prompts/`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }
}
