//! The public form of search results.

use djinn_core::tool::search::{QueryFindings, SearchedPage};
use serde::Serialize;

/// The results of one query, best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicFindings<'a> {
    /// The query, unchanged.
    pub query: &'a str,
    /// The pages. A page may also appear under another query.
    pub pages: Vec<PublicPage<'a>>,
}

/// A page in search results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicPage<'a> {
    /// The page's title; may be empty.
    pub title: &'a str,
    /// The URL of the page.
    pub url: &'a str,
    /// An excerpt from the search engine or the page, at most 300 characters.
    pub excerpt: &'a str,
}

impl<'a> PublicFindings<'a> {
    pub(super) fn new(findings: &'a QueryFindings) -> Self {
        let pages = findings.pages.iter().map(PublicPage::new).collect();
        Self { query: &findings.query, pages }
    }
}

impl<'a> PublicPage<'a> {
    fn new(page: &'a SearchedPage) -> Self {
        Self { title: &page.title, url: &page.url, excerpt: &page.excerpt }
    }
}
