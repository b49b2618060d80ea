//! Keys and tokens in a request's headers.

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_runtime::port::secret::Secret;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The unverified credentials of a request.
pub(crate) struct Credentials {
    authorization: Vec<HeaderValue>,
    api_key: Vec<HeaderValue>,
}

impl Credentials {
    /// Removes the credentials from the headers, so the routes never see them.
    pub(crate) fn take_from(headers: &mut HeaderMap) -> Self {
        let mut take_values = |name: &HeaderName| {
            let values = headers.get_all(name).iter().cloned().collect();
            headers.remove(name);
            values
        };
        Self { authorization: take_values(&AUTHORIZATION), api_key: take_values(&API_KEY) }
    }

    /// Returns the key from the bearer token or from the key header. The header is for deployments where AWS
    /// needs `Authorization` for the signature.
    pub(super) fn key(&self) -> Result<Option<Secret>, Failure> {
        let bearers = self.authorization.iter().filter_map(bearer_token);
        // A value outside ASCII becomes empty, which matches no key.
        let keys = self.api_key.iter().map(|value| Secret::new(value.to_str().unwrap_or_default()));
        only_one(bearers.chain(keys).collect())
    }

    /// Returns the bearer token.
    pub(super) fn token(&self) -> Result<Option<Secret>, Failure> {
        only_one(self.authorization.iter().filter_map(bearer_token).collect())
    }
}

/// Returns the only credential. Several credentials are rejected, because the caller would be ambiguous.
fn only_one(values: Vec<Secret>) -> Result<Option<Secret>, Failure> {
    match values.len() {
        0 | 1 => Ok(values.into_iter().next()),
        _ => {
            let sentence = "the request has several keys or tokens; send one";
            Err(Failure::new(ErrorCode::InvalidField, sentence))
        }
    }
}

/// Returns the token after `Bearer `; `None` for other schemes.
fn bearer_token(value: &HeaderValue) -> Option<Secret> {
    let (scheme, rest) = value.to_str().ok()?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Secret::new(rest))
}
