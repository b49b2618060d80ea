//! The outside: pages of the web are read and search engines are asked by a gateway, which holds nothing worth
//! stealing.

pub mod wire;

use serde::{Deserialize, Serialize};

use super::SessionKey;
use super::payload::base64_bytes;
use super::tool::BoxFuture;

/// The most pages of a job, which are read at once.
pub const MAX_PAGES: usize = 20;
/// Characters that are wanted of a page where nothing else is said.
pub const PAGE_CHARS: u64 = 8_000;
/// The most characters that may be wanted of a page at once.
pub const MAX_PAGE_CHARS: u64 = 50_000;
/// The most links of a page that are named.
pub const MAX_LINKS: usize = 100;
/// The most queries of a job, which are asked at once.
pub const MAX_QUERIES: usize = 5;
/// The most characters of a query.
pub const MAX_QUERY_CHARS: usize = 400;
/// The most hits that are wanted of an engine for a query.
pub const MAX_HITS: u32 = 10;
/// The most bytes of the pages that a query found beyond its hits.
pub const MAX_OTHER_BYTES: usize = 5_000_000;
/// The most bytes of a URL.
pub const MAX_URL_BYTES: usize = 2 * 1024;

/// Whose job it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideContext {
    /// The session that the job is done for. What asks for one tenant asks for no other.
    pub session: SessionKey,
}

/// Pages that are to be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadJob {
    /// The pages, [`MAX_PAGES`] at most.
    pub pages: Vec<PageTarget>,
}

/// A page that is to be read, and which part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageTarget {
    /// The URL of the page.
    pub url: String,
    /// How many characters of its text are passed over.
    #[serde(default)]
    pub offset: u64,
    /// How many characters are wanted at most; see [`MAX_PAGE_CHARS`].
    #[serde(default = "default_limit")]
    pub limit: u64,
    /// Whether robots.txt of its site may forbid it. A URL that a person wrote is read all the same.
    #[serde(default)]
    pub heeds_robots: bool,
}

fn default_limit() -> u64 {
    PAGE_CHARS
}

impl PageTarget {
    /// The beginning of a page that a person or a tool named.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), offset: 0, limit: PAGE_CHARS, heeds_robots: false }
    }
}

/// What became of a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageAnswer {
    /// The URL that was asked for.
    pub url: String,
    /// The page, or why there is none.
    pub outcome: PageOutcome,
}

/// A page, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageOutcome {
    /// It was read as text.
    Page(PageText),
    /// It is a document that the sandbox reads.
    Document(ForeignDocument),
    /// It was not read, for this reason.
    Refused(PageProblem),
}

/// A part of the text of a page. Everything in it may be written by anybody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageText {
    /// The URL that the page was found at, after its redirects.
    pub url: String,
    /// The title; empty where there is none.
    pub title: String,
    /// The part that was asked for, as Markdown where the page is one of HTML.
    pub text: String,
    /// Characters of the whole text.
    pub total_chars: u64,
    /// Where the next part begins, unless this is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// The links of the text, each URL once, [`MAX_LINKS`] at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PageLink>,
    /// What a reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<PageNote>,
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLink {
    /// The words that are linked.
    pub text: String,
    /// Where it leads to: a whole http or https URL.
    pub url: String,
}

/// What a reader of a page should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageNote {
    /// The page is larger than what is read of one, or ended before it was whole: its end is missing.
    Cut,
    /// No main text was found: this is all text of the page, with its menus.
    NoMainText,
    /// The page is not of the type that its server says.
    OtherType,
    /// Some of its characters could not be read in its charset.
    BrokenCharacters,
    /// It has more links than are named.
    MoreLinks,
}

/// A document whose text only the sandbox reads.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignDocument {
    /// The URL that it was found at, after its redirects.
    pub url: String,
    /// Its media type, as its bytes say.
    pub media_type: String,
    /// A name for it, with the ending of its type.
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

/// Why a page was not read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageProblem {
    /// The kind of the problem.
    pub code: PageProblemCode,
    /// The same as a sentence.
    pub sentence: String,
    /// What the server answered, where it was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// The kinds of problems with pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageProblemCode {
    /// The URL is none, or leads where nothing is asked for.
    Address,
    /// The server was not reached.
    Unreachable,
    /// The server took too long.
    TooSlow,
    /// It leads on and on.
    TooManyRedirects,
    /// It is larger than what is read.
    TooLarge,
    /// The server broke off, or spoke no HTTP.
    Protocol,
    /// The server answered with another status than success.
    Status,
    /// The site asks not to be read by programs, or did not say.
    Robots,
    /// There is no text on it.
    NoText,
    /// It is neither a text nor a document.
    Unsupported,
    /// Its HTML is so that no text could be made of it.
    Broken,
}

/// Queries that are to be put to the engines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchJob {
    /// The queries, [`MAX_QUERIES`] at most.
    pub queries: Vec<String>,
    /// How many hits are wanted of each engine for each of them, [`MAX_HITS`] at most.
    pub hits: u32,
}

/// What the engines found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchAnswer {
    /// What was found for each query, in their order.
    pub results: Vec<QueryResult>,
    /// The engines that did not answer all queries, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<EngineProblem>,
}

/// What was found for a query.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryResult {
    /// The query as it was asked.
    pub query: String,
    /// Its hits, the best of each engine first. A page that an earlier query found is not among them.
    pub hits: Vec<SearchHit>,
    /// What the engines named beyond the hits that were wanted of them, [`MAX_OTHER_BYTES`] at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<SearchHit>,
    /// Whether an engine named still more: its answer is longer than what is read of one, or there is no room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

/// A page that an engine knows. Anybody may have written its texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// The title of the page.
    pub title: String,
    /// Where it is: a whole http or https URL.
    pub url: String,
    /// Some words of it.
    pub snippet: String,
    /// The engine that named it first.
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

/// Why a query is put to no engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryFault {
    /// It has no words.
    #[error("a query is empty")]
    Empty,
    /// It has more characters than [`MAX_QUERY_CHARS`].
    #[error("a query has more than {MAX_QUERY_CHARS} characters")]
    TooLong,
    /// It has nothing to look for but operators of engines.
    #[error("a query has operators only, and no words to look for")]
    OnlyOperators,
}

/// Whether there is something to look for in a query.
///
/// # Errors
/// [`QueryFault`] for what no engine should be asked.
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

/// Why a job was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutsideError {
    /// There is no gateway here, or no engine: a sentence that names what to set.
    #[error("{0}")]
    Disabled(String),
    /// The job is none that this gateway does, now and later.
    #[error("{0}")]
    Refused(String),
    /// The gateway was not reached, or it failed; the same job may succeed later.
    #[error("{0}")]
    Unavailable(String),
}

/// A gateway to the outside, in this process or reached by an invocation. Needs for the latter
/// `lambda:InvokeFunction`, and `s3:GetObject`, `PutObject` and `DeleteObject` under the tenants' `sandbox/` for
/// answers that no payload holds.
pub trait Outside: Send + Sync {
    /// Reads pages, all at once. The answers are in the order of the pages.
    fn read_pages<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: ReadJob,
    ) -> BoxFuture<'a, Result<Vec<PageAnswer>, OutsideError>>;

    /// Puts all queries to all engines, at once. An engine that fails is a problem in the answer; it is an error
    /// if all do.
    fn search_web<'a>(
        &'a self,
        context: &'a OutsideContext,
        job: SearchJob,
    ) -> BoxFuture<'a, Result<SearchAnswer, OutsideError>>;
}

/// What stands where there is no gateway: it says so.
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
}

impl SearchHit {
    /// About how many bytes it has as JSON.
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
