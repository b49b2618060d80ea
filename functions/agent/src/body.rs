//! Reads request bodies: bytes, JSON, and the route's request type.

use axum::body::{Body, to_bytes};
use axum::extract::FromRequest;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, Request};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::BadId;
use http_body_util::LengthLimitError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::api_error::ApiError;
use crate::fields::parse_fields;
use crate::json;
use crate::unknown::UnknownMembers;

/// Maximum size of a request body, in bytes. A function URL carries binary bodies as base64, within a total
/// of 6 MB.
pub const MAX_BODY: usize = 4 * 1024 * 1024;

/// Any JSON.
pub(crate) struct AnyJson(pub(crate) Value);

/// The fields of a JSON object in their original form.
pub(crate) struct JsonMembers(Map<String, Value>);

/// JSON that may call itself `text/plain`, as some clients of other protocols send it.
pub(crate) struct PlainJson(pub(crate) JsonMembers);

/// The request of one of Djinn's own routes. Unknown fields are rejected.
pub(crate) struct OwnBody<T>(pub(crate) T);

/// The request of a route for clients that cannot change. Fields without effect are reported, not rejected.
pub(crate) struct LenientBody<T> {
    pub(crate) request: T,
    pub(crate) unknown: UnknownMembers,
}

impl<S: Sync> FromRequest<S> for AnyJson {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        Self::read_body(&parts.headers, body).await
    }
}

impl<S: Sync> FromRequest<S> for JsonMembers {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        Self::read_body(&parts.headers, body).await
    }
}

impl<S: Sync> FromRequest<S> for PlainJson {
    type Rejection = ApiError;

    /// Pages of other sites may send such a body without permission. On a laptop their origin is rejected, and
    /// elsewhere the credentials are in a header.
    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let is_text = |kind: &HeaderValue| kind.to_str().is_ok_and(is_plain_text);
        if parts.headers.get(CONTENT_TYPE).is_some_and(is_text) {
            let json = HeaderValue::from_static("application/json");
            parts.headers.insert(CONTENT_TYPE, json);
        }
        JsonMembers::read_body(&parts.headers, body).await.map(Self)
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for OwnBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, state: &S) -> Result<Self, ApiError> {
        let members = JsonMembers::from_request(request, state).await?;
        let (request, unknown) = members.parse_request();
        unknown.require_none()?;
        request.map(Self)
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for LenientBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, state: &S) -> Result<Self, ApiError> {
        let members = JsonMembers::from_request(request, state).await?;
        let (request, unknown) = members.parse_request();
        Ok(Self { request: request?, unknown })
    }
}

impl AnyJson {
    /// Reads a body of at most [`MAX_BODY`] bytes with JSON as the only media type. Pages of other sites need
    /// permission to send such a body.
    async fn read_body(headers: &HeaderMap, body: Body) -> Result<Self, ApiError> {
        let says_json = |kind: &HeaderValue| kind.to_str().is_ok_and(is_json);
        let mut kinds = headers.get_all(CONTENT_TYPE).iter().map(says_json).peekable();
        if kinds.peek().is_none() || kinds.any(|is_json| !is_json) {
            return Err(unsupported_body(
                "send JSON in UTF-8, with `Content-Type: application/json`",
            ));
        }
        let bytes = read_bytes(headers, body).await?;
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let value = json::parse_strict(text)
            .map_err(|error| Failure::new(ErrorCode::InvalidJson, error.to_string()))?;
        Ok(Self(value))
    }
}

impl JsonMembers {
    async fn read_body(headers: &HeaderMap, body: Body) -> Result<Self, ApiError> {
        let AnyJson(Value::Object(members)) = AnyJson::read_body(headers, body).await? else {
            return Err(Failure::new(ErrorCode::InvalidJson, "it must be an object").into());
        };
        Ok(Self(members))
    }

    /// Parses the fields into a request, and returns the fields unknown to the request's type.
    pub(crate) fn parse_request<T: DeserializeOwned>(
        self,
    ) -> (Result<T, ApiError>, UnknownMembers) {
        parse_fields(self.0)
    }

    /// Returns the fields as JSON.
    pub(crate) fn to_text(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    /// Returns a text field, even if other fields are invalid. An empty text counts as absent.
    pub(crate) fn peek_text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }
}

/// Returns true for a JSON media type in UTF-8.
fn is_json(media_type: &str) -> bool {
    is_utf8_type(media_type, |name| name == "application/json" || name.ends_with("+json"))
}

/// Returns true for plain text in UTF-8.
fn is_plain_text(media_type: &str) -> bool {
    is_utf8_type(media_type, |name| name == "text/plain")
}

fn is_utf8_type(media_type: &str, is_right: impl Fn(&str) -> bool) -> bool {
    let mut parts = media_type.split(';').map(|part| part.trim().to_ascii_lowercase());
    let name = parts.next().unwrap_or_default();
    let is_utf8 = |parameter: String| match parameter.strip_prefix("charset=") {
        Some(charset) => matches!(charset.trim_matches('"'), "utf-8" | "utf8"),
        None => true,
    };
    is_right(&name) && parts.all(is_utf8)
}

/// Reads the bytes of a body of at most [`MAX_BODY`] bytes, without a content encoding.
pub(crate) async fn read_bytes(
    headers: &HeaderMap,
    body: Body,
) -> Result<axum::body::Bytes, ApiError> {
    read_bytes_up_to(headers, body, MAX_BODY).await
}

/// Like [`read_bytes`], with a custom limit.
pub(crate) async fn read_bytes_up_to(
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<axum::body::Bytes, ApiError> {
    let as_it_is = |coding: &[u8]| coding.eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(|coding| as_it_is(coding.as_bytes())) {
        return Err(unsupported_body("send the body as it is, without a `Content-Encoding`"));
    }
    to_bytes(body, most).await.map_err(|error| {
        let error = error.into_inner();
        let failure = if error.is::<LengthLimitError>() {
            Failure::new(ErrorCode::BodyTooLarge, most.to_string())
        } else {
            Failure::new(ErrorCode::InvalidField, format!("the body broke off: {error}"))
        };
        failure.into()
    })
}

/// Returns the error for an unsupported body.
pub(crate) fn unsupported_body(sentence: &str) -> ApiError {
    Failure::new(ErrorCode::UnsupportedBody, sentence).into()
}

/// Parses an id from a path or a field.
pub(crate) fn parse_id<T>(name: &'static str, text: &str) -> Result<T, ApiError>
where
    T: TryFrom<String, Error = BadId>,
{
    T::try_from(text.to_owned()).map_err(|error| {
        let is_file_name = error.what == "file name";
        let code = if is_file_name { ErrorCode::BadFileName } else { ErrorCode::BadId };
        ApiError::from(Failure::new(code, format!("`{name}`: a {error}"))).with_field(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;
    use std::io::{Error, ErrorKind};

    #[tokio::test]
    async fn only_a_body_that_is_too_large_is_called_so() {
        let refused = |body| async move {
            let refusal = read_bytes(&HeaderMap::new(), body).await.unwrap_err();
            refusal.status().as_u16()
        };
        assert_eq!(refused(Body::from(vec![0; MAX_BODY + 1])).await, 413);
        let broken = [Ok("{\"query\":"), Err(Error::from(ErrorKind::ConnectionReset))];
        assert_eq!(refused(Body::from_stream(stream::iter(broken))).await, 400);
    }

    #[test]
    fn json_goes_by_several_names() {
        for good in [
            "application/json",
            "Application/JSON ; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
            "application/problem+json",
            "application/json; profile=x",
        ] {
            assert!(is_json(good), "{good}");
        }
        for bad in
            ["", "text/plain", "application/jsonp", "json", "application/json; charset=latin1"]
        {
            assert!(!is_json(bad), "{bad}");
        }
    }
}
