//! Keys and tokens in a request's headers.

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_runtime::port::secret::Secret;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// What a request says of who sent it. Nothing of it is verified.
pub(crate) struct Credentials {
    authorization: Vec<HeaderValue>,
    api_key: Vec<HeaderValue>,
}

impl Credentials {
    /// Takes them out of the headers, so that nobody behind the gate sees them.
    pub(crate) fn take_from(headers: &mut HeaderMap) -> Self {
        let mut taken = |name: &HeaderName| {
            let values = headers.get_all(name).iter().cloned().collect();
            headers.remove(name);
            values
        };
        Self { authorization: taken(&AUTHORIZATION), api_key: taken(&API_KEY) }
    }

    /// The key: a bearer's, or in a header of its own, which is free where AWS wants
    /// `Authorization` for its signature.
    pub(super) fn key(&self) -> Result<Option<Secret>, Failure> {
        let bearers = self.authorization.iter().filter_map(bearer_token);
        only_one(bearers.chain(self.api_key.iter().map(header_secret)).collect())
    }

    /// The token, which is always a bearer's.
    pub(super) fn token(&self) -> Result<Option<Secret>, Failure> {
        only_one(self.authorization.iter().filter_map(bearer_token).collect())
    }
}

/// Two that differ would leave open who asks.
fn only_one(found: Vec<Secret>) -> Result<Option<Secret>, Failure> {
    match found.len() {
        0 | 1 => Ok(found.into_iter().next()),
        _ => {
            let sentence = "the request has several keys or tokens; send one";
            Err(Failure::new(ErrorCode::InvalidField, sentence))
        }
    }
}

/// What follows `Bearer `; none in a header of another scheme.
fn bearer_token(value: &HeaderValue) -> Option<Secret> {
    let (scheme, rest) = value.to_str().ok()?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Secret::new(rest))
}

/// A value that is no text is one that nobody was given.
fn header_secret(value: &HeaderValue) -> Secret {
    Secret::new(value.to_str().unwrap_or_default())
}
