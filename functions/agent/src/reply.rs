//! The responses of handlers.

use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::ErrorCode;
use djinn_core::id::{RequestId, RunId};
use djinn_protocol::body::AnswerBody;

use crate::api_error::{ApiError, IGNORED, add_id_headers};

/// The result of a handler: a response or an error.
pub(crate) type ReplyResult = Result<JsonReply, ApiError>;

/// A response: a status, a public body as JSON, and headers with the ids of run and request.
#[derive(Debug)]
pub(crate) struct JsonReply {
    status: StatusCode,
    body: Option<Vec<u8>>,
    headers: HeaderMap,
}

impl JsonReply {
    /// Returns a 200 response with this body.
    ///
    /// # Errors
    /// Returns `internal` if the body cannot be serialized.
    pub(crate) fn json(body: &impl AnswerBody) -> ReplyResult {
        let body = serde_json::to_vec(body).map_err(|error| {
            tracing::error!(%error, "an answer cannot be written as JSON");
            ErrorCode::Internal
        })?;
        Ok(Self { status: StatusCode::OK, body: Some(body), headers: HeaderMap::new() })
    }

    /// Returns a 204 response without a body.
    pub(crate) fn no_content() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: None, headers: HeaderMap::new() }
    }

    /// Sets the status.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Adds the run's id to the headers.
    pub(crate) fn about_run(mut self, run: &RunId) -> Self {
        add_id_headers(&mut self.headers, Some(run), None);
        self
    }

    /// Adds the request's id to the headers.
    pub(crate) fn about_request(mut self, request: &RequestId) -> Self {
        add_id_headers(&mut self.headers, None, Some(request));
        self
    }

    /// Adds the names of the request's fields without effect.
    pub(crate) fn with_ignored(mut self, names: &[String]) -> Self {
        self.headers.extend(ignored_header(names).map(|names| (IGNORED, names)));
        self
    }
}

impl IntoResponse for JsonReply {
    fn into_response(self) -> Response {
        let Self { status, body, headers } = self;
        match body {
            None => (status, headers).into_response(),
            Some(body) => {
                let kind = (CONTENT_TYPE, HeaderValue::from_static("application/json"));
                (status, [kind], headers, body).into_response()
            }
        }
    }
}

/// Returns the value of `Djinn-Ignored`: comma-separated names; `None` without names.
pub(crate) fn ignored_header(names: &[String]) -> Option<HeaderValue> {
    if names.is_empty() {
        return None;
    }
    HeaderValue::from_str(&names.join(", ")).ok()
}
