//! The public form of the sources of a text.

use djinn_text::citations::list_sources;
use serde::Serialize;

/// A source in the list at the end of a text. The text cites the source as `[n]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicCitation<'a> {
    /// The number of the source in the text.
    pub n: u32,
    /// The title of the page; may be empty.
    pub title: String,
    /// The URL of the page, `http` or `https`.
    pub url: &'a str,
}

impl<'a> PublicCitation<'a> {
    /// Returns the sources of a text, by number.
    #[must_use]
    pub fn list(text: &'a str) -> Vec<Self> {
        let sources = list_sources(text).into_iter();
        sources
            .map(|source| Self { n: source.number, title: source.title, url: source.url })
            .collect()
    }
}
