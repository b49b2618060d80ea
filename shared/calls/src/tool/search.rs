//! What a search found, as people are shown it.

use serde::{Deserialize, Serialize};

/// What was found for one question, best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryFindings {
    /// The question as it was asked.
    pub query: String,
    /// The pages, of which some may stand with another question too.
    pub pages: Vec<SearchedPage>,
}

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchedPage {
    /// Its title; may be empty.
    pub title: String,
    /// The URL at which it is.
    pub url: String,
    /// What an engine or the page itself says, at most 300 characters.
    pub excerpt: String,
}
