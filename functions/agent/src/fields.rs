//! Reading a JSON body: each member with its type, and an answer that names the one that is wrong.

use axum::body::{Body, to_bytes};
use axum::extract::FromRequest;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, Request};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::BadId;
use http_body_util::LengthLimitError;
use serde_json::{Map, Value};

use crate::api_error::ApiError;
use crate::json;
use crate::query::{MAX_NAME, unknown_name};

/// The most bytes of a request body: a function URL carries binary bodies as base64, and 6 MB in
/// all.
pub const MAX_BODY: usize = 4 * 1024 * 1024;

/// The members of a JSON object.
pub(crate) struct BodyFields(Map<String, Value>);

impl<S: Sync> FromRequest<S> for BodyFields {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        Self::read_body(&parts.headers, body).await
    }
}

impl BodyFields {
    /// Reads a body of at most [`MAX_BODY`] bytes, whose headers call it JSON and nothing else. A page of
    /// another site needs leave to send such a one.
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
        let Value::Object(members) = value else {
            return Err(Failure::new(ErrorCode::InvalidJson, "it must be an object").into());
        };
        Ok(Self(members))
    }

    /// Refuses a body with a member that the route does not know.
    ///
    /// # Errors
    /// `invalid_field` about the first of them that says something.
    pub(crate) fn require_known(&self, known: &[&str]) -> Result<(), ApiError> {
        match self.unknown_names(known).next() {
            None => Ok(()),
            Some(unknown) => Err(unknown_name(unknown, "member", known)),
        }
    }

    /// The members that a route does not know, for a header: of those that say something, the first few whose
    /// names a header can hold.
    pub(crate) fn ignored_names(&self, known: &[&str]) -> Vec<String> {
        const MOST: usize = 16;
        let plain = |c: u8| c.is_ascii_alphanumeric() || b"_-.".contains(&c);
        let fits = |name: &&str| name.len() <= MAX_NAME && name.bytes().all(plain);
        let mut names: Vec<_> = self.unknown_names(known).filter(fits).map(str::to_owned).collect();
        names.sort();
        names.truncate(MOST);
        names
    }

    /// The members that say something and are none of these.
    fn unknown_names<'a>(&'a self, known: &'a [&str]) -> impl Iterator<Item = &'a str> {
        let says_nothing = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        };
        let unknown = self
            .0
            .iter()
            .filter(move |(name, value)| !known.contains(&name.as_str()) && !says_nothing(value));
        unknown.map(|(name, _)| name.as_str())
    }

    /// Whatever stands there; absent and null are the same.
    pub(crate) fn value(&self, name: &'static str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A text; absent, null and empty are the same.
    pub(crate) fn text(&self, name: &'static str) -> Result<Option<&str>, ApiError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
            Some(_) => Err(type_error(name, "a string")),
        }
    }

    /// A text that must be there.
    pub(crate) fn required_text(&self, name: &'static str) -> Result<&str, ApiError> {
        self.text(name)?.ok_or_else(|| type_error(name, "a non-empty string"))
    }

    /// A yes or no.
    pub(crate) fn flag(&self, name: &'static str) -> Result<Option<bool>, ApiError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(type_error(name, "true or false")),
        }
    }

    /// A whole number, also one written as a string.
    pub(crate) fn number(&self, name: &'static str) -> Result<Option<i64>, ApiError> {
        let number = match self.0.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Number(number)) => number.as_i64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        number.map(Some).ok_or_else(|| type_error(name, "a whole number"))
    }

    /// The list is `None` if the member is missing or null; any other type is refused.
    pub(crate) fn list(&self, name: &'static str) -> Result<Option<Vec<Value>>, ApiError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.clone())),
            Some(_) => Err(type_error(name, "a list")),
        }
    }

    /// Whether a member is a JSON object.
    pub(crate) fn is_object(&self, name: &'static str) -> bool {
        matches!(self.0.get(name), Some(Value::Object(_)))
    }

    /// The object is `None` if the member is missing or null; any other type is refused.
    pub(crate) fn object(
        &self,
        name: &'static str,
    ) -> Result<Option<Map<String, Value>>, ApiError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members.clone())),
            Some(_) => Err(type_error(name, "an object")),
        }
    }

    /// An id or a name, checked by its type.
    pub(crate) fn id<T>(&self, name: &'static str) -> Result<Option<T>, ApiError>
    where
        T: TryFrom<String, Error = BadId>,
    {
        let Some(text) = self.text(name)? else { return Ok(None) };
        parse_id(name, text).map(Some)
    }

    /// An id or a name that must be there.
    pub(crate) fn required_id<T>(&self, name: &'static str) -> Result<T, ApiError>
    where
        T: TryFrom<String, Error = BadId>,
    {
        parse_id(name, self.required_text(name)?)
    }
}

/// Whether a media type is one of JSON in UTF-8.
fn is_json(media_type: &str) -> bool {
    let mut parts = media_type.split(';').map(|part| part.trim().to_ascii_lowercase());
    let name = parts.next().unwrap_or_default();
    let is_utf8 = |parameter: String| match parameter.strip_prefix("charset=") {
        Some(charset) => matches!(charset.trim_matches('"'), "utf-8" | "utf8"),
        None => true,
    };
    (name == "application/json" || name.ends_with("+json")) && parts.all(is_utf8)
}

/// The bytes of a body of at most [`MAX_BODY`], which must have come as they are.
pub(crate) async fn read_bytes(
    headers: &HeaderMap,
    body: Body,
) -> Result<axum::body::Bytes, ApiError> {
    read_bytes_up_to(headers, body, MAX_BODY).await
}

/// The same with a bound of its own.
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
        let failure = match error.is::<LengthLimitError>() {
            true => Failure::new(ErrorCode::BodyTooLarge, most.to_string()),
            false => Failure::new(ErrorCode::InvalidField, format!("the body broke off: {error}")),
        };
        failure.into()
    })
}

/// A body that the route does not read.
pub(crate) fn unsupported_body(sentence: &str) -> ApiError {
    Failure::new(ErrorCode::UnsupportedBody, sentence).into()
}

/// An id from a path or a member.
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

fn type_error(name: &'static str, wanted: &str) -> ApiError {
    ApiError::invalid_field(name, &format!("must be {wanted}"))
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
