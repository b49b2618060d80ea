//! Parses the query parameters of a URL.

use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{FileName, RunId, SessionId};
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::{RunPosition, SessionPosition};

use crate::api_error::ApiError;
use crate::unknown::unknown_name;

/// Default and maximum number of items per page.
const PAGE_SIZE: usize = 20;
const MAX_PAGE_SIZE: usize = 100;

/// Every status under the API's name.
const STATUSES: [RunStatus; 6] = [
    RunStatus::Queued,
    RunStatus::Running,
    RunStatus::Paused,
    RunStatus::Finished,
    RunStatus::Failed,
    RunStatus::Stopped,
];

/// The query parameters of one of Djinn's own routes. Unknown and repeated parameters are rejected.
pub(crate) struct UrlQuery<T>(pub(crate) T);

/// The known parameters of a route.
pub(crate) trait QueryParameters: Sized {
    /// The names of all parameters.
    const NAMES: &'static [&'static str];

    /// Parses the values of a request.
    fn read(parameters: &Parameters) -> Result<Self, ApiError>;
}

impl<T: QueryParameters, S: Sync> FromRequestParts<S> for UrlQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let parameters = Parameters::parse(&parts.uri)?;
        parameters.require_known(T::NAMES)?;
        T::read(&parameters).map(Self)
    }
}

/// The parameters of a route without any.
pub(crate) struct NoParameters;

impl QueryParameters for NoParameters {
    const NAMES: &'static [&'static str] = &[];

    fn read(_: &Parameters) -> Result<Self, ApiError> {
        Ok(Self)
    }
}

/// A page of a list: the number of items, and the position before the first item.
pub(crate) struct PageQuery<C> {
    pub(crate) limit: usize,
    pub(crate) after: Option<C>,
}

impl<C: PageCursor> QueryParameters for PageQuery<C> {
    const NAMES: &'static [&'static str] = &["limit", "cursor"];

    fn read(parameters: &Parameters) -> Result<Self, ApiError> {
        Ok(Self { limit: parameters.limit()?, after: parameters.cursor()? })
    }
}

/// A page of a user's runs, optionally of one status.
pub(crate) struct RunListQuery {
    pub(crate) page: PageQuery<RunPosition>,
    pub(crate) status: Option<RunStatus>,
}

impl QueryParameters for RunListQuery {
    const NAMES: &'static [&'static str] = &["limit", "cursor", "status"];

    fn read(parameters: &Parameters) -> Result<Self, ApiError> {
        let status = parameters.text("status").map(|word| {
            RunStatus::parse(word).ok_or_else(|| {
                let words = STATUSES.map(RunStatus::as_str).join(", ");
                ApiError::invalid_field("status", &format!("must be one of {words}"))
            })
        });
        Ok(Self { page: PageQuery::read(parameters)?, status: status.transpose()? })
    }
}

/// A page of a session's files, after the file of this name.
pub(crate) struct FileListQuery {
    pub(crate) limit: usize,
    pub(crate) after: Option<FileName>,
}

impl QueryParameters for FileListQuery {
    const NAMES: &'static [&'static str] = &["limit", "cursor"];

    fn read(parameters: &Parameters) -> Result<Self, ApiError> {
        let problem = "must be the `next` of the previous page";
        let parse_name = |text: &str| {
            FileName::new(text).map_err(|_| ApiError::invalid_field("cursor", problem))
        };
        let after = parameters.text("cursor").map(parse_name).transpose()?;
        Ok(Self { limit: parameters.limit()?, after })
    }
}

/// The position for resuming a stream, for clients that cannot send the header `Last-Event-ID`.
pub(crate) struct FollowQuery {
    pub(crate) after: Option<String>,
}

impl QueryParameters for FollowQuery {
    const NAMES: &'static [&'static str] = &["after"];

    fn read(parameters: &Parameters) -> Result<Self, ApiError> {
        Ok(Self { after: parameters.text("after").map(str::to_owned) })
    }
}

/// A position in a list: a time and a label.
pub(crate) trait PageCursor: Sized {
    /// Returns the position after this time, Unix milliseconds, and label.
    fn from_parts(at_ms: i64, label: &str) -> Option<Self>;
}

impl PageCursor for RunPosition {
    fn from_parts(at_ms: i64, label: &str) -> Option<Self> {
        Some(Self { started_at_ms: at_ms, run: RunId::new(label).ok()? })
    }
}

impl PageCursor for SessionPosition {
    fn from_parts(at_ms: i64, label: &str) -> Option<Self> {
        Some(Self { newest_at_ms: at_ms, session: SessionId::new(label).ok()? })
    }
}

/// The parameters of a request, without repetitions.
pub(crate) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    pub(crate) fn parse(uri: &Uri) -> Result<Self, ApiError> {
        let Query(pairs): Query<Vec<(String, String)>> = Query::try_from_uri(uri)
            .map_err(|error| Failure::new(ErrorCode::InvalidField, error.to_string()))?;
        let mut parameters = BTreeMap::new();
        for (name, value) in pairs {
            if parameters.insert(name, value).is_some() {
                let sentence = "the URL has the same parameter twice; send one";
                return Err(Failure::new(ErrorCode::InvalidField, sentence).into());
            }
        }
        Ok(Self(parameters))
    }

    /// Returns the names of the parameters.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    fn require_known(&self, parameters: &[&str]) -> Result<(), ApiError> {
        match self.names().find(|name| !parameters.contains(name)) {
            None => Ok(()),
            Some(unknown) => Err(unknown_name(unknown, "parameter", parameters)),
        }
    }

    /// Returns a text; an empty text counts as absent.
    fn text(&self, name: &'static str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Returns `limit`: the number of items per page.
    fn limit(&self) -> Result<usize, ApiError> {
        let Some(text) = self.text("limit") else { return Ok(PAGE_SIZE) };
        let limit = text.parse().ok().filter(|limit| (1..=MAX_PAGE_SIZE).contains(limit));
        let problem = || format!("must be a whole number from 1 to {MAX_PAGE_SIZE}");
        limit.ok_or_else(|| ApiError::invalid_field("limit", &problem()))
    }

    /// Returns `cursor`: the start of the page.
    fn cursor<C: PageCursor>(&self) -> Result<Option<C>, ApiError> {
        let Some(text) = self.text("cursor") else { return Ok(None) };
        let parts = text.split_once('.');
        let cursor = parts.and_then(|(time, label)| C::from_parts(time.parse().ok()?, label));
        let problem = "must be the `next` of the previous page";
        cursor.map(Some).ok_or_else(|| ApiError::invalid_field("cursor", problem))
    }
}

/// Formats a position for clients.
pub(crate) fn format_cursor(at_ms: i64, label: &impl std::fmt::Display) -> String {
    format!("{at_ms}.{label}")
}
