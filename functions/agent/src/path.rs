//! Extracts ids from the segments of a path.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use djinn_core::error_code::ErrorCode;
use djinn_core::id::{BadId, HumanRequestId, KeyName, RequestId, RunId, SessionName, ShareHandle};
use djinn_runtime::port::RunKey;

use crate::api_error::ApiError;
use crate::body::parse_id;
use crate::identity::Caller;

/// An id from a segment of the path.
pub(crate) struct PathId<T>(pub(crate) T);

/// An id with a fixed segment name in the routes' paths.
pub(crate) trait PathParameter: TryFrom<String, Error = BadId> {
    /// The name of the segment in the path, and in errors.
    const NAME: &'static str;
}

impl PathParameter for SessionName {
    const NAME: &'static str = "session";
}

impl PathParameter for HumanRequestId {
    const NAME: &'static str = "request";
}

impl PathParameter for KeyName {
    const NAME: &'static str = "name";
}

impl PathParameter for ShareHandle {
    const NAME: &'static str = "handle";
}

impl<T: PathParameter, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        read_segment(parts, state, T::NAME).await.map(Self)
    }
}

/// The run of a path, in the caller's tenant. The run's existence and the caller's rights are not checked.
pub(crate) struct RunPath(pub(crate) RunKey);

impl<S: Send + Sync> FromRequestParts<S> for RunPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::of(&parts.extensions)?;
        // Any label has the form of a run's id, but generated ids have a special form.
        let label: RequestId = read_segment(parts, state, "run").await?;
        let run = RunId::new(label.as_str()).map_err(|_| ErrorCode::RunNotFound)?;
        Ok(Self(RunKey::new(caller.tenant, run)))
    }
}

async fn read_segment<T, S>(parts: &mut Parts, state: &S, name: &'static str) -> Result<T, ApiError>
where
    T: TryFrom<String, Error = BadId>,
    S: Send + Sync,
{
    let segments = RawPathParams::from_request_parts(parts, state).await;
    let segments = segments.map_err(|error| {
        tracing::error!(%error, "a route's path has no segments");
        ErrorCode::Internal
    })?;
    let text = segments.iter().find(|(segment, _)| *segment == name).map(|(_, text)| text);
    parse_id(name, text.ok_or(ErrorCode::Internal)?)
}
