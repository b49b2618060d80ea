//! The bodies of answers about sessions.

use djinn_core::status::RunStatus;
use serde::Serialize;

use crate::event::{PublicCitation, PublicFile};

/// One page of the caller's sessions, the one with the newest question first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionListBody {
    /// The user whose sessions these are: the caller.
    pub user: String,
    /// The sessions of this page.
    pub sessions: Vec<SessionSummaryBody>,
    /// Sessions of other users, shared with the caller by name: the 50 that were shared last, sorted by newest question.
    /// Only on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<Vec<SharedSessionBody>>,
    /// The `cursor` for the next page; null on the last page.
    pub next: Option<String>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionSummaryBody {
    /// The label of the session, or the handle of a share for guests.
    pub session: String,
    /// The title: the beginning of the first question, or a title from the owner.
    pub title: String,
    /// The beginning of the newest question, at most 121 characters; may be empty for old sessions.
    pub newest_question: String,
    /// The start time, Unix milliseconds.
    pub started_at_ms: i64,
    /// The time of the newest question, Unix milliseconds.
    pub last_active_at_ms: i64,
}

/// A session of another user in a guest's list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedSessionBody {
    /// The session.
    #[serde(flatten)]
    pub summary: SessionSummaryBody,
    /// The user who shares the session.
    pub owner: String,
    /// True if the caller may ask questions.
    pub write: bool,
}

/// A session: one page of its questions, newest first, and its files.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionBody<'a> {
    /// The session, or the handle of a share for guests.
    pub session: String,
    /// The current title of the session.
    pub title: String,
    /// The start time, Unix milliseconds.
    pub started_at_ms: i64,
    /// The time of the newest question, Unix milliseconds.
    pub last_active_at_ms: i64,
    /// The questions and answers.
    pub turns: Vec<TurnBody<'a>>,
    /// The `cursor` for the next page; null on the last page.
    pub next: Option<String>,
    /// The files, newest first.
    pub files: Vec<PublicFile<'a>>,
    /// The shares; for the owner only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<Vec<ShareBody>>,
    /// True if the caller may ask questions; absent for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<bool>,
    /// The user who shares the session; for guests only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'a str>,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnBody<'a> {
    /// The run of the answer.
    pub run: String,
    /// The id of the question's request; null if unknown.
    pub request: Option<String>,
    /// The status of the run.
    pub status: RunStatus,
    /// The start time, Unix milliseconds.
    pub started_at_ms: i64,
    /// The question; null if the journal has expired.
    pub question: Option<&'a str>,
    /// The answer; null while the run is at work.
    pub answer: Option<&'a str>,
    /// The sources in the list at the end of the answer; absent without such a list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<PublicCitation<'a>>,
    /// The names of the files offered with the answer, at most 12; absent without files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<&'a str>,
    /// True if the caller asked the question; only the asker responds to the run's requests.
    pub own: bool,
    /// The guest who asked, if not the owner; for the owner only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<&'a str>,
}

/// The new title of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TitleBody {
    /// The label of the session.
    pub session: String,
    /// The current title of the session.
    pub title: String,
}

/// A share of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareBody {
    /// The session's handle for guests: `shr_` and 32 hex digits.
    pub handle: String,
    /// The audience of the share.
    pub with: AudienceBody,
    /// True if the audience may ask questions and add files.
    pub write: bool,
    /// The creation time, Unix milliseconds.
    pub created_at_ms: i64,
    /// The session; only in the response that creates the share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The audience of a share.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AudienceBody {
    /// Every user of the tenant.
    Tenant(TenantWord),
    /// One user of the tenant.
    User {
        /// The user's id.
        user: String,
    },
}

/// The word for every user of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TenantWord {
    /// Every user of the tenant.
    Tenant,
}
