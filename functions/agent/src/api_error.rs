//! The response to a rejected request: a code, a sentence and a field name.

use std::borrow::Cow;

use axum::http::header::{HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{RequestId, RunId};
use djinn_core::language::Language;
use djinn_protocol::body::ErrorBody;
use djinn_protocol::refusal::{http_status, retry_after_s};
use djinn_runtime::port::StoreError;
use djinn_runtime::serve::store_failure;

/// The run's id, in every response about a run.
pub(crate) const RUN_ID: HeaderName = HeaderName::from_static("djinn-run-id");
/// The request's id, in every response about a request with a known id.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("djinn-request-id");

/// Names of the request's fields and parameters without effect.
pub(crate) const IGNORED: HeaderName = HeaderName::from_static("djinn-ignored");

/// The reason a request is rejected. As a response, the error has only a status and headers:
/// `dialect::render_error` adds the body in the format of the path's client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiError {
    pub(crate) failure: Failure,
    field: Option<Cow<'static, str>>,
    pub(crate) language: Option<Language>,
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        let field = failure.field.map(Cow::Borrowed);
        Self { failure, field, language: None }
    }
}

impl From<ErrorCode> for ApiError {
    fn from(code: ErrorCode) -> Self {
        Failure::from(code).into()
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        store_failure(&error).into()
    }
}

impl ApiError {
    /// Returns the error for an invalid field or parameter.
    pub(crate) fn invalid_field(name: impl Into<Cow<'static, str>>, problem: &str) -> Self {
        let name = name.into();
        let sentence = format!("`{name}` {problem}");
        Self::from(Failure::new(ErrorCode::InvalidField, sentence)).with_field(name)
    }

    /// Sets the name of the invalid field.
    pub(crate) fn with_field(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Sets the language of the question, if known; the default is the deployment's language.
    pub(crate) fn with_language(self, language: Option<Language>) -> Self {
        Self { language, ..self }
    }

    /// The name of the request's invalid field.
    pub(crate) fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    /// Renames the invalid field to the client's name.
    pub(crate) fn with_member_name(mut self, name: &'static str) -> Self {
        if let Some(current_name) = &self.field {
            let current_name = format!("`{current_name}`");
            let own = format!("`{name}`");
            self.failure.detail = self.failure.detail.replace(&current_name, &own);
        }
        self.with_field(name)
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(http_status(self.failure.code))
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Returns the body: a code, a sentence and the field name.
    pub(crate) fn body(&self, language: Language) -> ErrorBody {
        ErrorBody::new(&self.failure, self.field.clone(), language)
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        // For a busy session, the run to follow or to stop; the rejected question has no run.
        add_id_headers(&mut headers, self.failure.run.as_ref(), None);
        let code = self.failure.code;
        let challenge = match (code == ErrorCode::CredentialsRefused, self.status()) {
            (true, _) => Some("Bearer realm=\"djinn\", error=\"invalid_token\""),
            (false, StatusCode::UNAUTHORIZED) => Some("Bearer realm=\"djinn\""),
            (false, _) => None,
        };
        let challenge = challenge.map(|words| (WWW_AUTHENTICATE, HeaderValue::from_static(words)));
        headers.extend(challenge);
        headers.extend(retry_after_s(&self.failure).map(|s| (RETRY_AFTER, HeaderValue::from(s))));
        headers
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status(), self.headers()).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Converts a failure to an error. The error names the field if the value is invalid or too large.
pub(crate) fn member_error(failure: Failure, member: &'static str) -> ApiError {
    let is_its_own = matches!(failure.code, ErrorCode::InvalidField | ErrorCode::TooLarge);
    let refusal = ApiError::from(failure);
    if is_its_own { refusal.with_field(member) } else { refusal }
}

/// Adds a generated request id to responses without one.
pub(crate) async fn add_request_id(mut response: Response) -> Response {
    if !response.headers().contains_key(REQUEST_ID) {
        let request = RequestId::new(format!("req-{:016x}", fastrand::u64(..))).ok();
        add_id_headers(response.headers_mut(), None, request.as_ref());
    }
    response
}

/// Adds the ids of the run and the request to a response's headers.
pub(crate) fn add_id_headers(
    headers: &mut HeaderMap,
    run: Option<&RunId>,
    request: Option<&RequestId>,
) {
    let run = run.and_then(|run| HeaderValue::from_str(run.as_str()).ok());
    let request = request.and_then(|request| HeaderValue::from_str(request.as_str()).ok());
    headers.extend(run.map(|run| (RUN_ID, run)));
    headers.extend(request.map(|request| (REQUEST_ID, request)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_stored_names_its_bound_and_its_member() {
        let failure = store_failure(&StoreError::TooLarge("PutItem on djinn".to_owned()));
        let refusal = member_error(failure, "parameters");
        assert_eq!(refusal.status(), StatusCode::PAYLOAD_TOO_LARGE);
        let body = refusal.body(Language::En);
        assert_eq!((body.code, body.field.as_deref()), (ErrorCode::TooLarge, Some("parameters")));
        assert_eq!((body.detail.as_str(), body.retryable), ("400 KB", false));
        let others = member_error(ErrorCode::RunEnded.into(), "parameters");
        assert_eq!(others.body(Language::En).field, None);
    }
}
