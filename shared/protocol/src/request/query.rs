//! The parameters of URLs.

use djinn_core::status::RunStatus;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IntoDeserializer};

/// Default and maximum number of items per page.
const PAGE_SIZE: usize = 20;
const MAX_PAGE_SIZE: usize = 100;

/// The parameters of a route without any.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NoParameters {}

/// A page of a list. A cursor is the text of a position `C`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(bound = ""))]
#[serde(deny_unknown_fields, bound = "C: TryFrom<String>")]
pub struct PageQuery<C> {
    /// Items per page, 1 to 100 (default 20).
    #[serde(default = "default_limit", deserialize_with = "parse_limit")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100)))]
    pub limit: usize,
    /// The `next` of the previous page.
    #[serde(rename = "cursor", default, deserialize_with = "parse_cursor")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub after: Option<C>,
}

/// A page of a user's runs. A cursor is the text of a position `C`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(bound = ""))]
#[serde(deny_unknown_fields, bound = "C: TryFrom<String>")]
pub struct RunListQuery<C> {
    /// Only runs with this status.
    #[serde(default, deserialize_with = "parse_non_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "RunStatus"))]
    pub status: Option<RunStatus>,
    /// Items per page, 1 to 100 (default 20).
    #[serde(default = "default_limit", deserialize_with = "parse_limit")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100)))]
    pub limit: usize,
    /// The `next` of the previous page.
    #[serde(rename = "cursor", default, deserialize_with = "parse_cursor")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub after: Option<C>,
}

/// The start of a stream of the AI SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AiStreamQuery {
    /// The number of chunks that the client has. With any, the client drops them and receives the stream again, because
    /// a number of chunks names no place in a run (default 0).
    #[serde(rename = "startIndex", default)]
    pub start_index: i64,
}

/// The start of a stream, for clients that cannot send the header `Last-Event-ID`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FollowQuery {
    /// The cursor of the last received event, for clients without the header. The header takes precedence.
    #[serde(default, deserialize_with = "parse_non_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub after: Option<String>,
}

fn default_limit() -> usize {
    PAGE_SIZE
}

fn parse_limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let Some(text) = parse_non_empty::<D, String>(deserializer)? else { return Ok(PAGE_SIZE) };
    let limit = text.parse().ok().filter(|limit| (1..=MAX_PAGE_SIZE).contains(limit));
    let problem = || format!("must be a whole number from 1 to {MAX_PAGE_SIZE}");
    limit.ok_or_else(|| D::Error::custom(problem()))
}

fn parse_cursor<'de, D, C>(deserializer: D) -> Result<Option<C>, D::Error>
where
    D: Deserializer<'de>,
    C: TryFrom<String>,
{
    let Some(text) = parse_non_empty::<D, String>(deserializer)? else { return Ok(None) };
    let problem = "must be the `next` of the previous page";
    C::try_from(text).map(Some).map_err(|_| D::Error::custom(problem))
}

/// Parses a parameter from its text. An empty text counts as absent.
pub(super) fn parse_non_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Ok(None) } else { T::deserialize(text.into_deserializer()).map(Some) }
}
