//! Requests about sessions.

use serde::Deserialize;

use super::value::required_text;

/// Another title of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TitleRequest {
    /// The title, which is put on one line.
    #[serde(deserialize_with = "required_text")]
    pub title: String,
}

/// Whom a session is to be shared with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShareRequest {
    /// Who gets the handle.
    pub with: AudienceRequest,
    /// Whether they may ask in it and add files; `false` unless it is said.
    pub write: Option<bool>,
}

/// A user's id, an object `{"user": …}` with one, or `tenant` for every user of yours.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "must be a user's id, {\"user\": …} with one, or `tenant` for every user of yours"
)]
pub enum AudienceRequest {
    /// `tenant`, or the id of a user who is not called so.
    Word(String),
    /// A user of any id.
    User(NamedUser),
}

/// One user of the tenant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NamedUser {
    /// The id of that user.
    pub user: String,
}
