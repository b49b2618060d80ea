//! Results of searches, as users see them.

use serde::{Deserialize, Serialize};

/// The results of one query, best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryFindings {
    /// The query as the search received it.
    pub query: String,
    /// The pages; a page may also be in the results of another query.
    pub pages: Vec<SearchedPage>,
}

/// A page in the results of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchedPage {
    /// The title; may be empty.
    pub title: String,
    /// The URL of the page.
    pub url: String,
    /// Text from an engine or from the page, at most 300 characters.
    pub excerpt: String,
}
