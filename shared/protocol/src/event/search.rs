//! The public form of search results.

use djinn_core::tool::search::{QueryFindings, SearchedPage};
use serde::Serialize;

/// What was found for one question, best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicFindings<'a> {
    /// The question as it was asked.
    pub query: &'a str,
    /// The pages, of which some may stand with another question too.
    pub pages: Vec<PublicPage<'a>>,
}

/// A page that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicPage<'a> {
    /// Its title; may be empty.
    pub title: &'a str,
    /// The URL at which it is.
    pub url: &'a str,
    /// What an engine or the page itself says, at most 300 characters.
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
