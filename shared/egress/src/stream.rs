//! A response that is read piece by piece, while the server may still be writing it.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, HeaderName};

use crate::body::ContentCoding;
use crate::client::{describe_failure, find_text};
use crate::error::EgressError;
use crate::places::Place;

/// Maximum time between two pieces of a body.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// The response of [`crate::Egress::open`]. Holds a place for a concurrent request until dropped.
pub struct EgressStream {
    response: Response,
    host: String,
    /// The number of bytes received, and their maximum.
    bytes: u64,
    max_bytes: u64,
    _place: Option<Place>,
}

impl EgressStream {
    pub(crate) fn new(
        response: Response,
        host: String,
        max_bytes: u64,
        place: Option<Place>,
    ) -> Result<Self, EgressError> {
        let encoding = find_text(response.headers(), &CONTENT_ENCODING);
        // A compressed stream has no useful limit, so none is requested.
        if ContentCoding::parse(encoding.as_deref()) != Some(ContentCoding::Identity) {
            let why = "the answer is encoded in a way that nobody asked for".to_owned();
            return Err(EgressError::Protocol { host, why });
        }
        Ok(Self { response, host, bytes: 0, max_bytes, _place: place })
    }

    /// Returns the status of HTTP.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Returns a header as text. The result is `None` if the header is missing, or longer than 4 KB.
    #[must_use]
    pub fn find_header(&self, name: &str) -> Option<String> {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        find_text(self.response.headers(), &name)
    }

    /// Returns the next piece of the body; `None` at its end.
    ///
    /// # Errors
    /// Returns [`EgressError`] if the connection breaks, if nothing arrives for 60 seconds, or if the body
    /// exceeds the maximum size of the request.
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        let piece = tokio::time::timeout(IDLE_TIME, self.response.chunk()).await;
        let piece = piece.map_err(|_| EgressError::TooSlow { host: self.host.clone() })?;
        let piece = piece.map_err(|error| describe_failure(&error, &self.host))?;
        self.bytes = self.bytes.saturating_add(piece.as_ref().map_or(0, Bytes::len) as u64);
        if self.bytes > self.max_bytes {
            let bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX);
            return Err(EgressError::TooLarge { host: self.host.clone(), bytes });
        }
        Ok(piece)
    }

    /// Reads the rest of the body.
    ///
    /// # Errors
    /// Returns the errors of [`EgressStream::next_chunk`].
    pub async fn read_rest(&mut self) -> Result<Vec<u8>, EgressError> {
        let mut body = Vec::new();
        while let Some(piece) = self.next_chunk().await? {
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

impl fmt::Debug for EgressStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EgressStream").field("status", &self.status()).finish_non_exhaustive()
    }
}
