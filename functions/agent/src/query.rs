//! Reading what stands behind the `?` of a path.

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::http::Uri;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{RunId, SessionId};
use djinn_runtime::port::catalog::{RunPosition, SessionPosition};

use crate::api_error::ApiError;

/// Things on one page of a list unless the request says otherwise, and at most.
const PAGE_SIZE: usize = 20;
const MAX_PAGE_SIZE: usize = 100;

/// The parameters of a request.
pub(crate) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    pub(crate) fn of(uri: &Uri) -> Result<Self, ApiError> {
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

    /// A text; absent and empty are the same.
    pub(crate) fn text(&self, name: &'static str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// `limit`: how much stands on one page.
    pub(crate) fn limit(&self) -> Result<usize, ApiError> {
        let Some(text) = self.text("limit") else { return Ok(PAGE_SIZE) };
        let limit = text.parse().ok().filter(|limit| (1..=MAX_PAGE_SIZE).contains(limit));
        limit.ok_or_else(|| {
            invalid_field("limit", &format!("must be a whole number from 1 to {MAX_PAGE_SIZE}"))
        })
    }

    /// `cursor`: where the page of runs begins.
    pub(crate) fn run_cursor(&self) -> Result<Option<RunPosition>, ApiError> {
        self.parse_cursor(|time, label| {
            Some(RunPosition { started_at_ms: time, run: RunId::new(label).ok()? })
        })
    }

    /// `cursor`: where the page of sessions begins.
    pub(crate) fn session_cursor(&self) -> Result<Option<SessionPosition>, ApiError> {
        self.parse_cursor(|time, label| {
            Some(SessionPosition { newest_at_ms: time, session: SessionId::new(label).ok()? })
        })
    }

    fn parse_cursor<T>(
        &self,
        place: impl Fn(i64, &str) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(text) = self.text("cursor") else { return Ok(None) };
        let parts = text.split_once('.');
        let parsed = parts.and_then(|(time, label)| place(time.parse().ok()?, label));
        parsed
            .map(Some)
            .ok_or_else(|| invalid_field("cursor", "must be the `next` of another page"))
    }
}

/// A place as clients hand it back.
pub(crate) fn format_cursor(at_ms: i64, label: &impl std::fmt::Display) -> String {
    format!("{at_ms}.{label}")
}

/// A parameter that cannot be used.
pub(crate) fn invalid_field(name: &'static str, problem: &str) -> ApiError {
    let sentence = format!("`{name}` {problem}");
    ApiError::from(Failure::new(ErrorCode::InvalidField, sentence)).with_field(name)
}
