//! What is asked for, and what comes back.

use std::fmt;

use url::Url;

use crate::error::EgressError;

/// The most bytes of a body after decoding.
pub const MAX_BODY_BYTES: u64 = 5_000_000;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    /// Reads a page and sends no body.
    Get,
    /// Sends a body and reads the answer.
    Post,
}

/// One request. How it is encoded, and how long it may take, is the client's business.
#[derive(Clone, PartialEq, Eq)]
pub struct EgressRequest {
    /// Whether it reads or sends.
    pub method: HttpMethod,
    /// A whole URL, as somebody wrote it.
    pub url: String,
    /// Names and values. On another origin only `Accept…` and `User-Agent` of them are sent.
    pub headers: Vec<(String, String)>,
    /// What is sent, which goes to the URL's own origin only.
    pub body: Option<Vec<u8>>,
    /// Whether redirects are followed. Else the first one is the response.
    pub accept_redirects: bool,
    /// The most bytes of the body after decoding; what follows is not read.
    pub max_bytes: u64,
}

impl EgressRequest {
    /// Reads a page, wherever it leads.
    #[must_use]
    pub fn get(url: &str) -> Self {
        Self {
            method: HttpMethod::Get,
            url: url.to_owned(),
            headers: Vec::new(),
            body: None,
            accept_redirects: true,
            max_bytes: MAX_BODY_BYTES,
        }
    }

    /// Sends a body. Redirects are followed.
    #[must_use]
    pub fn post(url: &str, body: Vec<u8>) -> Self {
        Self { method: HttpMethod::Post, body: Some(body), ..Self::get(url) }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Without the values of headers and the body, which may be secret.
impl fmt::Debug for EgressRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("EgressRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("headers", &names)
            .field("body_bytes", &self.body.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

/// What a server answered, whatever the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressResponse {
    /// Where it came from after all redirects.
    pub url: Url,
    /// The status of HTTP.
    pub status: u16,
    /// The type that the server gives it, which may be wrong.
    pub content_type: Option<String>,
    /// Few of the headers, with small letters in their names.
    pub headers: Vec<(String, String)>,
    /// The decoded body, or its beginning.
    pub body: Vec<u8>,
    /// Whether the body is not whole: it is longer than was asked for, or broke off.
    pub is_cut: bool,
}

impl EgressResponse {
    /// The value of one of the headers that are kept.
    #[must_use]
    pub fn find_header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    /// The body where a part of it would be of no use, as of JSON.
    ///
    /// # Errors
    /// [`EgressError::TooLarge`] if it is not whole.
    pub fn into_whole_body(self) -> Result<Vec<u8>, EgressError> {
        if self.is_cut {
            let host = self.url.host_str().unwrap_or_default().to_owned();
            return Err(EgressError::TooLarge { host, bytes: self.body.len() });
        }
        Ok(self.body)
    }
}
