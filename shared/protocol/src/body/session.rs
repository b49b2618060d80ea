//! The bodies of answers about sessions.

use djinn_core::status::RunStatus;
use serde::Serialize;

use crate::event::PublicFile;

/// One page of the caller's sessions, the one with the newest question first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionListBody {
    /// The sessions of this page.
    pub sessions: Vec<SessionSummaryBody>,
    /// What to send as `cursor` for the next page; null on the last.
    pub next: Option<String>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionSummaryBody {
    /// The label of the session.
    pub session: String,
    /// Its title: the beginning of its first question, or what its owner called it.
    pub title: String,
    /// When it began, Unix milliseconds.
    pub started_at_ms: i64,
    /// When its newest question was asked, Unix milliseconds.
    pub last_active_at_ms: i64,
}

/// A session: one page of its questions, newest first, and its files.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionBody<'a> {
    /// The session, or the handle under which it is shared with the caller.
    pub session: String,
    /// The title it has now.
    pub title: String,
    /// When it began, Unix milliseconds.
    pub started_at_ms: i64,
    /// When its newest question was asked, Unix milliseconds.
    pub last_active_at_ms: i64,
    /// Its questions and answers.
    pub turns: Vec<TurnBody<'a>>,
    /// What to send as `cursor` for the next page; null on the last.
    pub next: Option<String>,
    /// Its files, the newest first.
    pub files: Vec<PublicFile<'a>>,
    /// Its shares; for the owner alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<Vec<ShareBody>>,
    /// Whether the caller may ask in it; for everybody but the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<bool>,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnBody<'a> {
    /// The run that answered.
    pub run: String,
    /// The request that asked; null where that is not known.
    pub request: Option<String>,
    /// How far it is.
    pub status: RunStatus,
    /// When it began, Unix milliseconds.
    pub started_at_ms: i64,
    /// The question; null if its journal has expired.
    pub question: Option<&'a str>,
    /// The answer; null while it is worked on.
    pub answer: Option<&'a str>,
    /// Who asked, if not the owner; for the owner alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<&'a str>,
}

/// A session has another title.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TitleBody {
    /// The label of the session.
    pub session: String,
    /// The title it has now.
    pub title: String,
}

/// A share of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareBody {
    /// What the session is called by whom it is shared with: `shr_` and 32 hex digits.
    pub handle: String,
    /// Whom it is shared with.
    pub with: AudienceBody,
    /// Whether they may ask in it and add files.
    pub write: bool,
    /// When it was made, Unix milliseconds.
    pub created_at_ms: i64,
    /// The session; only in the answer to the request that made the share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// Whom a session is shared with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AudienceBody {
    /// Every user of the tenant.
    Tenant(TenantWord),
    /// One user of the tenant.
    User {
        /// The id of that user.
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
