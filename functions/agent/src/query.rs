//! Parses the query parameters of a URL.

use std::fmt::Display;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use djinn_core::id::{FileName, RunId, SessionId};
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::{RunPosition, SessionPosition};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, IntoDeserializer};

use crate::api_error::ApiError;
use crate::fields::field_error;

/// Default and maximum number of items per page.
const PAGE_SIZE: usize = 20;
const MAX_PAGE_SIZE: usize = 100;

/// The query parameters of one of Djinn's own routes. Unknown and repeated parameters are rejected.
pub(crate) struct UrlQuery<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for UrlQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let pairs = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let query = serde_path_to_error::deserialize(serde_urlencoded::Deserializer::new(pairs));
        query.map(Self).map_err(|error| field_error(&error, "parameter"))
    }
}

/// The parameters of a route without any.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParameters {}

/// A page of a list: the number of items, and the position before the first item.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "C: PageCursor")]
pub(crate) struct PageQuery<C> {
    #[serde(default = "default_limit", deserialize_with = "parse_limit")]
    pub(crate) limit: usize,
    #[serde(rename = "cursor", default, deserialize_with = "parse_cursor")]
    pub(crate) after: Option<C>,
}

/// A page of a user's runs, optionally of one status.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunListQuery {
    #[serde(default = "default_limit", deserialize_with = "parse_limit")]
    pub(crate) limit: usize,
    #[serde(rename = "cursor", default, deserialize_with = "parse_cursor")]
    pub(crate) after: Option<RunPosition>,
    #[serde(default, deserialize_with = "parse_non_empty")]
    pub(crate) status: Option<RunStatus>,
}

/// The position for resuming a stream, for clients that cannot send the header `Last-Event-ID`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowQuery {
    #[serde(default, deserialize_with = "parse_non_empty")]
    pub(crate) after: Option<String>,
}

/// A page of a session's files.
pub(crate) type FileListQuery = PageQuery<FileName>;

/// A position in a list.
pub(crate) trait PageCursor: Sized {
    /// Parses the text of a cursor.
    fn parse_cursor(text: &str) -> Option<Self>;
}

impl PageCursor for RunPosition {
    fn parse_cursor(text: &str) -> Option<Self> {
        let (time, run) = text.split_once('.')?;
        Some(Self { started_at_ms: time.parse().ok()?, run: RunId::new(run).ok()? })
    }
}

impl PageCursor for SessionPosition {
    fn parse_cursor(text: &str) -> Option<Self> {
        let (time, session) = text.split_once('.')?;
        Some(Self { newest_at_ms: time.parse().ok()?, session: SessionId::new(session).ok()? })
    }
}

impl PageCursor for FileName {
    fn parse_cursor(text: &str) -> Option<Self> {
        Self::new(text).ok()
    }
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
    C: PageCursor,
{
    let Some(text) = parse_non_empty::<D, String>(deserializer)? else { return Ok(None) };
    let problem = "must be the `next` of the previous page";
    C::parse_cursor(&text).map(Some).ok_or_else(|| D::Error::custom(problem))
}

/// Parses a parameter from its text. An empty text counts as absent.
fn parse_non_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Ok(None) } else { T::deserialize(text.into_deserializer()).map(Some) }
}

/// Formats a position for clients.
pub(crate) fn format_cursor(at_ms: i64, label: &impl Display) -> String {
    format!("{at_ms}.{label}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;
    use futures::FutureExt as _;

    fn parse<T: DeserializeOwned>(query: &str) -> Result<T, (String, String)> {
        let request = Request::builder().uri(format!("/runs?{query}")).body(()).unwrap();
        let mut parts = request.into_parts().0;
        let result = UrlQuery::from_request_parts(&mut parts, &()).now_or_never().unwrap();
        result
            .map(|UrlQuery(query)| query)
            .map_err(|error| (error.field().unwrap_or_default().to_owned(), error.failure.detail))
    }

    #[test]
    fn an_empty_parameter_counts_as_absent() {
        for query in ["", "limit=&cursor=&status=", "&&"] {
            let RunListQuery { limit, after, status } = parse(query).unwrap();
            assert_eq!((limit, after, status), (PAGE_SIZE, None, None), "{query}");
        }
        let RunListQuery { limit, after, status } =
            parse("limit=100&cursor=5.run_00000000000000000000000000000000&status=paused").unwrap();
        assert_eq!((limit, status), (100, Some(RunStatus::Paused)));
        assert_eq!(after.map(|position| position.started_at_ms), Some(5));
    }

    #[test]
    fn an_invalid_parameter_is_named() {
        let unknown = "`limt` has no effect here (did you mean `limit`?): the parameters are \
                       limit, cursor, status";
        let status = "`status` must be one of queued, running, paused, finished, failed, stopped";
        for (query, field, sentence) in [
            ("limit=0", "limit", "`limit` must be a whole number from 1 to 100"),
            ("limit=x", "limit", "`limit` must be a whole number from 1 to 100"),
            ("cursor=5", "cursor", "`cursor` must be the `next` of the previous page"),
            ("status=Paused", "status", status),
            ("limt=", "limt", unknown),
            ("limit=1&%6Cimit=2", "", "the request has the same parameter twice; send one"),
        ] {
            let error = (field.to_owned(), sentence.to_owned());
            assert_eq!(parse::<RunListQuery>(query).err(), Some(error), "{query}");
        }
        let error = parse::<NoParameters>("q=1").err().unwrap_or_default();
        assert_eq!(error.1, "`q` has no effect here: this takes no parameters");
    }
}
