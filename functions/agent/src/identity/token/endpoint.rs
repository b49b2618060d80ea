//! The source of an issuer's keys.

use djinn_model::Http;
use reqwest::StatusCode;
use reqwest::header::ACCEPT;

/// Maximum size of a key set, in bytes.
const MAX_KEYS: usize = 256 * 1024;

/// Fetches an issuer's keys. The caller applies a timeout.
pub(crate) trait JwksEndpoint: Send + Sync {
    /// Returns the currently published key set, or an error for the log.
    fn fetch_keys(&self) -> impl Future<Output = Result<Vec<u8>, String>> + Send;
}

/// A key set at a URL.
pub(crate) struct HttpEndpoint {
    url: String,
    http: Http,
}

impl HttpEndpoint {
    pub(in crate::identity) fn new(url: String, http: Http) -> Self {
        Self { url, http }
    }
}

impl JwksEndpoint for HttpEndpoint {
    async fn fetch_keys(&self) -> Result<Vec<u8>, String> {
        let describe_error = |error: reqwest::Error| error.to_string();
        let request = self.http.client()?.get(&self.url).header(ACCEPT, "application/json");
        let mut response = request.send().await.map_err(describe_error)?;
        if response.status() != StatusCode::OK {
            return Err(format!("it answered {}", response.status()));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(describe_error)? {
            if bytes.len() + chunk.len() > MAX_KEYS {
                return Err(format!("it answered more than {MAX_KEYS} bytes"));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}
