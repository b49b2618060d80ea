//! What a handler answers.

use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::ErrorCode;
use djinn_core::id::{RequestId, RunId};
use djinn_protocol::body::AnswerBody;

use crate::api_error::{ApiError, IGNORED, add_id_headers};

/// What a handler comes to: an answer, or a refusal.
pub(crate) type ReplyResult = Result<JsonReply, ApiError>;

/// An answer: a status, a public body as JSON, and the run and the request that it is about.
#[derive(Debug)]
pub(crate) struct JsonReply {
    status: StatusCode,
    body: Option<Vec<u8>>,
    headers: HeaderMap,
}

impl JsonReply {
    /// 200 with this body.
    ///
    /// # Errors
    /// `internal` for a body that cannot be written.
    pub(crate) fn json(body: &impl AnswerBody) -> ReplyResult {
        let body = serde_json::to_vec(body).map_err(|error| {
            tracing::error!(%error, "an answer cannot be written as JSON");
            ErrorCode::Internal
        })?;
        Ok(Self { status: StatusCode::OK, body: Some(body), headers: HeaderMap::new() })
    }

    /// 204, which has no body.
    pub(crate) fn no_content() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: None, headers: HeaderMap::new() }
    }

    /// The same with another status.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The same about this run.
    pub(crate) fn about_run(mut self, run: &RunId) -> Self {
        add_id_headers(&mut self.headers, Some(run), None);
        self
    }

    /// The same about this request.
    pub(crate) fn about_request(mut self, request: &RequestId) -> Self {
        add_id_headers(&mut self.headers, None, Some(request));
        self
    }

    /// The same naming what of the request has no effect.
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

/// The value of `Djinn-Ignored`: names with commas between them. `None` without any.
pub(crate) fn ignored_header(names: &[String]) -> Option<HeaderValue> {
    if names.is_empty() {
        return None;
    }
    HeaderValue::from_str(&names.join(", ")).ok()
}
