//! The outside: a gateway without secrets reads web pages and queries search engines.

mod context;
mod seal;
mod tool_call;
pub mod wire;

use serde::{Deserialize, Serialize};

use super::payload::base64_bytes;
use super::tool::BoxFuture;
pub use context::OutsideContext;
pub use seal::{SealJob, StoredUserKey};
pub use tool_call::{ToolAnswer, ToolAnswerFile, ToolJob};

/// The maximum number of pages of a job; all are read in parallel.
pub const MAX_PAGES: usize = 20;
/// The default number of characters of a page.
pub const PAGE_CHARS: u64 = 8_000;
/// The maximum number of characters of a page in one answer.
pub const MAX_PAGE_CHARS: u64 = 50_000;
/// The maximum number of listed links of a page.
pub const MAX_LINKS: usize = 100;
/// The maximum number of queries of a job; all are sent in parallel.
pub const MAX_QUERIES: usize = 5;
/// The maximum length of a query, in characters.
pub const MAX_QUERY_CHARS: usize = 400;
/// The maximum number of hits per engine and query.
pub const MAX_HITS: u32 = 10;
/// The maximum size of the pages that a query found beyond its hits, in bytes.
pub const MAX_OTHER_BYTES: usize = 5_000_000;
/// The maximum length of a URL, in bytes.
pub const MAX_URL_BYTES: usize = 2 * 1024;

/// A job: pages to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadJob {
    /// The pages, [`MAX_PAGES`] at most.
    pub pages: Vec<PageTarget>,
}

/// A page to be read, and the requested part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTarget {
    /// The URL of the page.
    pub url: String,
    /// The number of characters to skip (default 0).
    #[serde(default)]
    pub offset: u64,
    /// The maximum number of characters to return (default [`PAGE_CHARS`]); see [`MAX_PAGE_CHARS`].
    #[serde(default = "default_limit")]
    pub limit: u64,
    /// True if the site's robots.txt applies. URLs written by a user are read regardless.
    #[serde(default)]
    pub heeds_robots: bool,
}

fn default_limit() -> u64 {
    PAGE_CHARS
}

impl PageTarget {
    /// Targets the beginning of a page that a user or a tool named.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), offset: 0, limit: PAGE_CHARS, heeds_robots: false }
    }
}

/// The result of reading a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageAnswer {
    /// The requested URL of the page.
    pub url: String,
    /// The page, or the reason for its absence.
    pub outcome: PageOutcome,
}

/// A page, or the reason for its absence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageOutcome {
    /// The page as text.
    Page(PageText),
    /// A document for the sandbox to read.
    Document(ForeignDocument),
    /// The page was not read, for this reason.
    Refused(PageProblem),
}

/// A part of the text of a page. Anybody may have written the content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageText {
    /// The URL of the page after redirects.
    pub url: String,
    /// The title; empty if missing.
    pub title: String,
    /// The requested part; Markdown if the page is HTML.
    pub text: String,
    /// The number of characters of the whole text.
    pub total_chars: u64,
    /// The offset of the next part; `None` for the last part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// The links of the text, each URL once, [`MAX_LINKS`] at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PageLink>,
    /// The notes for a reader of the page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<PageNote>,
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLink {
    /// The text of the link.
    pub text: String,
    /// The target: an absolute http or https URL.
    pub url: String,
}

/// A note for a reader of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageNote {
    /// The end is missing: the page is above the size limit, or ended early.
    Cut,
    /// No main text was found: the text is the whole page with its menus.
    NoMainText,
    /// The page's type differs from the server's content type.
    OtherType,
    /// Some characters are invalid in the page's charset.
    BrokenCharacters,
    /// The page has more links than listed.
    MoreLinks,
}

/// A document whose text only the sandbox reads.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignDocument {
    /// The URL of the document after redirects.
    pub url: String,
    /// The media type, detected from the content.
    pub media_type: String,
    /// A file name with the extension of the media type.
    pub name: String,
    /// All bytes of the document.
    #[serde(with = "base64_bytes")]
    pub content: Vec<u8>,
}

impl std::fmt::Debug for ForeignDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes of {})", self.name, self.content.len(), self.media_type)
    }
}

/// The problem with a page that was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageProblem {
    /// The kind of the problem.
    pub code: PageProblemCode,
    /// The problem as a sentence.
    pub sentence: String,
    /// The HTTP status, if the server was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// The kinds of problems with pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageProblemCode {
    /// The URL is invalid, or its target is forbidden.
    Address,
    /// The server was unreachable.
    Unreachable,
    /// The server took too long.
    TooSlow,
    /// The URL has too many redirects.
    TooManyRedirects,
    /// The page is above the size limit.
    TooLarge,
    /// The server broke the connection, or spoke no HTTP.
    Protocol,
    /// The server returned a status other than success.
    Status,
    /// The site's robots.txt forbids programs, or could not be read.
    Robots,
    /// The page has no text.
    NoText,
    /// The content is neither a text nor a document.
    Unsupported,
    /// The HTML is too broken to be converted to text.
    Broken,
}

/// A job: queries for the search engines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchJob {
    /// The queries, [`MAX_QUERIES`] at most.
    pub queries: Vec<String>,
    /// The number of hits per engine and query, [`MAX_HITS`] at most.
    pub hits: u32,
}

/// The results of the search engines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// The results of each query, in the order of the queries.
    pub results: Vec<QueryResult>,
    /// The engines that failed on at least one query, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<EngineProblem>,
}

/// The results of a query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryResult {
    /// The query as sent to the engines.
    pub query: String,
    /// The hits, the best of each engine first. Pages found by an earlier query are left out.
    pub hits: Vec<SearchHit>,
    /// The engines' results beyond the requested hits, [`MAX_OTHER_BYTES`] at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<SearchHit>,
    /// True if an engine had more results, cut by the size limit of an answer or of this list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// A page that an engine found. Anybody may have written its texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The title of the page.
    pub title: String,
    /// The location: an absolute http or https URL.
    pub url: String,
    /// An excerpt of the page.
    pub snippet: String,
    /// The engine that found the page first.
    pub engine: String,
}

/// An engine that did not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineProblem {
    /// The name of the engine.
    pub engine: String,
    /// The reason, as a sentence without its full stop.
    pub why: String,
}

/// The reason for which a query goes to no engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryFault {
    /// The query has no words.
    #[error("a query is empty")]
    Empty,
    /// The query has more than [`MAX_QUERY_CHARS`] characters.
    #[error("a query has more than {MAX_QUERY_CHARS} characters")]
    TooLong,
    /// The query consists of search operators only.
    #[error("a query has operators only, and no words to look for")]
    OnlyOperators,
}

/// Checks that a query has words to look for.
///
/// # Errors
/// Returns [`QueryFault`] if no engine should receive the query.
pub fn check_query(query: &str) -> Result<(), QueryFault> {
    let query = query.trim();
    if query.is_empty() {
        return Err(QueryFault::Empty);
    }
    if query.chars().count() > MAX_QUERY_CHARS {
        return Err(QueryFault::TooLong);
    }
    let is_operator = |word: &str| {
        let word = word.trim_start_matches(['-', '+']);
        let names = ["site", "filetype", "intitle", "inurl", "intext", "before", "after", "ext"];
        let has_name = word.split_once(':').is_some_and(|(name, _)| names.contains(&name));
        has_name || matches!(word, "AND" | "OR" | "NOT") || !word.contains(char::is_alphanumeric)
    };
    if query.split_whitespace().all(is_operator) { Err(QueryFault::OnlyOperators) } else { Ok(()) }
}

/// The reason for which a job was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutsideError {
    /// No gateway or no engine is configured: the sentence names the setting.
    #[error("{0}")]
    Disabled(String),
    /// This gateway never does the job, now or later.
    #[error("{0}")]
    Refused(String),
    /// The gateway was unreachable or failed; the same job may succeed later.
    #[error("{0}")]
    Unavailable(String),
}

/// A gateway to the outside, in this process or behind an invocation. An invocation needs
/// `lambda:InvokeFunction`, and `s3:GetObject`, `PutObject` and `DeleteObject` under the tenants' `sandbox/`
/// for answers above the payload limit.
pub trait Outside: Send + Sync {
    /// Reads all pages in parallel. The answers are in the order of the pages.
    fn read_pages<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: ReadJob,
    ) -> BoxFuture<'a, Result<Vec<PageAnswer>, OutsideError>>;

    /// Sends all queries to all engines in parallel. A failed engine is a problem in the answer; only the
    /// failure of all engines is an error.
    fn search_web<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: SearchJob,
    ) -> BoxFuture<'a, Result<SearchAnswer, OutsideError>>;

    /// Calls a tool that is a file. The problem of a call is an answer; an error means that the gateway itself
    /// failed, possibly after the request was sent. By default, a gateway calls no tools.
    fn call_tool<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: ToolJob,
    ) -> BoxFuture<'a, Result<ToolAnswer, OutsideError>> {
        let _ = (context, job);
        Box::pin(async { Err(OutsideError::Refused("this gateway calls no tools.".to_owned())) })
    }

    /// Seals a user's key, so that only a gateway of this deployment can open the key, and only for the same owner,
    /// name and origin. Returns base64. By default, a gateway seals no keys.
    fn seal_key(&self, job: SealJob) -> BoxFuture<'_, Result<String, OutsideError>> {
        let _ = job;
        Box::pin(async { Err(OutsideError::Refused("this gateway seals no keys.".to_owned())) })
    }
}

/// The stand-in for a missing gateway: every job fails with [`OutsideError::Disabled`].
pub struct DisabledOutside(pub String);

impl Outside for DisabledOutside {
    fn read_pages<'a>(
        &'a self,
        _: &'a OutsideContext,
        _: ReadJob,
    ) -> BoxFuture<'a, Result<Vec<PageAnswer>, OutsideError>> {
        Box::pin(async { Err(OutsideError::Disabled(self.0.clone())) })
    }

    fn search_web<'a>(
        &'a self,
        _: &'a OutsideContext,
        _: SearchJob,
    ) -> BoxFuture<'a, Result<SearchAnswer, OutsideError>> {
        Box::pin(async { Err(OutsideError::Disabled(self.0.clone())) })
    }

    fn call_tool<'a>(
        &'a self,
        _: &'a OutsideContext,
        _: ToolJob,
    ) -> BoxFuture<'a, Result<ToolAnswer, OutsideError>> {
        Box::pin(async { Err(OutsideError::Disabled(self.0.clone())) })
    }

    fn seal_key(&self, _: SealJob) -> BoxFuture<'_, Result<String, OutsideError>> {
        Box::pin(async { Err(OutsideError::Disabled(self.0.clone())) })
    }
}

impl SearchHit {
    /// Returns the approximate size of the hit as JSON, in bytes.
    #[must_use]
    pub fn count_bytes(&self) -> usize {
        const NAMES: usize = 50;
        self.title.len() + self.url.len() + self.snippet.len() + self.engine.len() + NAMES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_something_to_look_for() {
        for (query, fault) in [
            ("", Some(QueryFault::Empty)),
            (" \n", Some(QueryFault::Empty)),
            (&*"a".repeat(401), Some(QueryFault::TooLong)),
            (&*"热".repeat(400), None),
            ("site:example.com", Some(QueryFault::OnlyOperators)),
            ("-site:example.com OR -\"\" AND ()", Some(QueryFault::OnlyOperators)),
            ("site:example.com heat pumps", None),
            ("C++: why?", None),
            ("12:30", None),
        ] {
            assert_eq!(check_query(query).err(), fault, "{query}");
        }
    }
}
