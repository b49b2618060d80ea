//! One request of a redirect chain, and the next request.

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use url::Url;

use crate::error::{AddressProblem, EgressError};
use crate::message::{EgressRequest, HttpMethod};
use crate::settings::EgressSettings;
use crate::url_rules::refuse_url;

/// The default `User-Agent`.
const AGENT: &str =
    "Mozilla/5.0 (compatible; DjinnBot/0.0; +https://github.com/djinn-agents/djinn)";

/// Headers set only by the client: length, encoding and target.
const CLIENT_HEADERS: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// One request of a chain.
pub(crate) struct Hop {
    pub(crate) url: Url,
    pub(crate) method: HttpMethod,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
}

impl Hop {
    /// Creates the first request of a chain.
    pub(crate) fn new(
        settings: &EgressSettings,
        request: EgressRequest,
    ) -> Result<Self, EgressError> {
        let url = settings.check_url(&request.url)?;
        let refuse = |why: String| EgressError::InvalidRequest { why };
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers.iter().chain(&request.keys) {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| refuse("a header has a name that HTTP does not know".to_owned()))?;
            if CLIENT_HEADERS.contains(&name.as_str()) {
                return Err(refuse(format!("the header {name} is not the caller's")));
            }
            let mut value = HeaderValue::from_str(value)
                .map_err(|_| refuse(format!("the header {name} has a line break")))?;
            value.set_sensitive(true);
            headers.append(name, value);
        }
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        Ok(Self { url, method: request.method, headers, body: request.body })
    }

    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default().trim_end_matches('.')
    }

    /// Returns the next request if the response is a redirect.
    pub(crate) fn follow_response(
        &self,
        settings: &EgressSettings,
        status: u16,
        headers: &HeaderMap,
    ) -> Result<Option<Self>, EgressError> {
        let keeps_method = match status {
            301..=303 => self.method == HttpMethod::Get,
            307 | 308 => true,
            _ => return Ok(None),
        };
        let Some(location) = headers.get(LOCATION) else { return Ok(None) };
        let location = String::from_utf8_lossy(location.as_bytes());
        let url = settings.check_location(&self.url, &location)?;
        let is_same_origin = url.origin() == self.url.origin();
        let body = self.body.clone().filter(|_| keeps_method);
        if body.is_some() && !is_same_origin {
            return Err(refuse_url(url.as_str(), AddressProblem::BodyElsewhere));
        }
        let mut headers = self.headers.clone();
        // Another origin receives no keys and no file contents.
        if !is_same_origin {
            let is_harmless =
                |name: &HeaderName| name.as_str().starts_with("accept") || *name == USER_AGENT;
            let harmless_headers = self.headers.iter().filter(|(name, _)| is_harmless(name));
            headers = harmless_headers.map(|(name, value)| (name.clone(), value.clone())).collect();
        }
        if body.is_none() {
            headers.remove(CONTENT_TYPE);
        }
        let method = if keeps_method { self.method } else { HttpMethod::Get };
        Ok(Some(Self { url, method, headers, body }))
    }
}
