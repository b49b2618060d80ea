//! Requests and responses of the client.

use std::fmt;
use std::time::Duration;

use url::Url;

use crate::error::EgressError;

/// The most bytes of a body after decoding.
pub const MAX_BODY_BYTES: u64 = 5_000_000;

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    /// Reads a page and sends no body.
    Get,
    /// Sends a body and reads the answer.
    Post,
    /// Replaces a resource.
    Put,
    /// Changes a resource.
    Patch,
    /// Deletes a resource.
    Delete,
}

/// One request. The client sets encoding and timeouts.
#[derive(Clone, PartialEq, Eq)]
pub struct EgressRequest {
    /// The method: read or send.
    pub method: HttpMethod,
    /// An absolute URL, as written by its author.
    pub url: String,
    /// Names and values. To another origin, only `Accept…` and `User-Agent` are sent.
    pub headers: Vec<(String, String)>,
    /// Headers with keys, sent to the URL's own origin only: a request with keys follows no redirect.
    pub keys: Vec<(String, String)>,
    /// The body, sent to the URL's own origin only.
    pub body: Option<Vec<u8>>,
    /// True to follow redirects; otherwise the first redirect is the response.
    pub accept_redirects: bool,
    /// Maximum bytes of the decoded body; the rest is not read.
    pub max_bytes: u64,
    /// Timeout of the request; `None` for that of the client, which is also the maximum.
    pub time_limit: Option<Duration>,
}

impl EgressRequest {
    /// Creates a request for a page, with redirects.
    #[must_use]
    pub fn get(url: &str) -> Self {
        Self {
            method: HttpMethod::Get,
            url: url.to_owned(),
            headers: Vec::new(),
            keys: Vec::new(),
            body: None,
            accept_redirects: true,
            max_bytes: MAX_BODY_BYTES,
            time_limit: None,
        }
    }

    /// Sends a body. Redirects are followed.
    #[must_use]
    pub fn post(url: &str, body: Vec<u8>) -> Self {
        Self { method: HttpMethod::Post, body: Some(body), ..Self::get(url) }
    }

    /// Adds a header to the request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a header with a key, so that no redirect is followed.
    #[must_use]
    pub fn with_key(mut self, name: &str, value: &str) -> Self {
        self.keys.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Omits the body and the values of headers, because these may be secret.
impl fmt::Debug for EgressRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers = self.headers.iter().chain(&self.keys);
        let names: Vec<_> = headers.map(|(name, _)| name).collect();
        f.debug_struct("EgressRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &names)
            .field("body_bytes", &self.body.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

/// A server's response with any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressResponse {
    /// The final URL after all redirects.
    pub url: Url,
    /// The status of HTTP.
    pub status: u16,
    /// The media type from the server, possibly wrong.
    pub content_type: Option<String>,
    /// Few of the headers, with small letters in their names.
    pub headers: Vec<(String, String)>,
    /// The decoded body, possibly cut.
    pub body: Vec<u8>,
    /// True if the body is incomplete: longer than the limit, or interrupted.
    pub is_cut: bool,
}

impl EgressResponse {
    /// Returns true if the response leads to another URL.
    #[must_use]
    pub fn is_redirect(&self) -> bool {
        matches!(self.status, 301..=303 | 307 | 308)
    }

    /// Returns the value of a kept header.
    #[must_use]
    pub fn find_header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// Returns the complete body, for formats like JSON without useful parts.
    ///
    /// # Errors
    /// Returns [`EgressError::TooLarge`] if the body is incomplete.
    pub fn into_whole_body(self) -> Result<Vec<u8>, EgressError> {
        if self.is_cut {
            let host = self.url.host_str().unwrap_or_default().to_owned();
            return Err(EgressError::TooLarge { host, bytes: self.body.len() });
        }
        Ok(self.body)
    }
}
