//! Requests about sessions.

use serde::Deserialize;

use super::value::required_text;

/// A session's new title.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TitleRequest {
    /// The title, stored as one line.
    #[serde(deserialize_with = "required_text")]
    pub title: String,
}

/// The audience of a new share.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShareRequest {
    /// The user who receives the handle, or `tenant` for every user of the tenant.
    pub with: AudienceRequest,
    /// True if the audience may ask questions and add files (default false).
    pub write: Option<bool>,
}

/// A user's id, an object `{"user": …}` with an id, or `tenant` for every user of your tenant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "must be a user's id, {\"user\": …} with one, or `tenant` for every user of yours"
)]
pub enum AudienceRequest {
    /// `tenant`, or the id of a user whose id is not `tenant`.
    Word(String),
    /// A user of any id.
    User(NamedUser),
}

/// One user of the tenant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NamedUser {
    /// The user's id.
    pub user: String,
}
