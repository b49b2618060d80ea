//! Reading what stands behind the `?` of a path.

use std::collections::BTreeMap;

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{RunId, SessionId};
use djinn_core::status::RunStatus;
use djinn_runtime::port::catalog::{RunPosition, SessionPosition};

use crate::api_error::ApiError;
use crate::unknown::unknown_name;

/// Things on one page of a list unless the request says otherwise, and at most.
const PAGE_SIZE: usize = 20;
const MAX_PAGE_SIZE: usize = 100;

/// Every status, in the words of the API.
const STATUSES: [RunStatus; 6] = [
    RunStatus::Queued,
    RunStatus::Running,
    RunStatus::Paused,
    RunStatus::Finished,
    RunStatus::Failed,
    RunStatus::Stopped,
];

/// The parameters of one of our own routes: those it knows, each once, and no others.
pub(crate) struct UrlQuery<T>(pub(crate) T);

/// The parameters that a route knows.
pub(crate) trait QueryParameters: Sized {
    /// The names of all of them.
    const NAMES: &'static [&'static str];

    /// Reads their values from a request.
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

/// The parameters of a route that has none.
pub(crate) struct NoParameters;

impl QueryParameters for NoParameters {
    const NAMES: &'static [&'static str] = &[];

    fn read(_: &Parameters) -> Result<Self, ApiError> {
        Ok(Self)
    }
}

/// A page of a list: how much stands on it, and behind which thing it begins.
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

/// A page of a user's runs, perhaps of those in one state.
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

/// Where a client comes back to a stream that cannot send the header `Last-Event-ID`.
pub(crate) struct FollowQuery {
    pub(crate) after: Option<String>,
}

impl QueryParameters for FollowQuery {
    const NAMES: &'static [&'static str] = &["after"];

    fn read(parameters: &Parameters) -> Result<Self, ApiError> {
        Ok(Self { after: parameters.text("after").map(str::to_owned) })
    }
}

/// A place in a list, as clients hand it back: a time and a label.
pub(crate) trait PageCursor: Sized {
    /// The place behind this time, Unix milliseconds, and label.
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

/// The parameters of a request, each of which it has once.
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

    /// The names of those that were sent.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    fn require_known(&self, known: &[&str]) -> Result<(), ApiError> {
        match self.names().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(unknown) => Err(unknown_name(unknown, "parameter", known)),
        }
    }

    /// A text; absent and empty are the same.
    fn text(&self, name: &'static str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// `limit`: how much stands on one page.
    fn limit(&self) -> Result<usize, ApiError> {
        let Some(text) = self.text("limit") else { return Ok(PAGE_SIZE) };
        let limit = text.parse().ok().filter(|limit| (1..=MAX_PAGE_SIZE).contains(limit));
        let problem = || format!("must be a whole number from 1 to {MAX_PAGE_SIZE}");
        limit.ok_or_else(|| ApiError::invalid_field("limit", &problem()))
    }

    /// `cursor`: where the page begins.
    fn cursor<C: PageCursor>(&self) -> Result<Option<C>, ApiError> {
        let Some(text) = self.text("cursor") else { return Ok(None) };
        let parts = text.split_once('.');
        let parsed = parts.and_then(|(time, label)| C::from_parts(time.parse().ok()?, label));
        let problem = "must be the `next` of the previous page";
        parsed.map(Some).ok_or_else(|| ApiError::invalid_field("cursor", problem))
    }
}

/// A place as clients hand it back.
pub(crate) fn format_cursor(at_ms: i64, label: &impl std::fmt::Display) -> String {
    format!("{at_ms}.{label}")
}
