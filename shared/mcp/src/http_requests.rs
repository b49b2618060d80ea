//! The HTTP requests of a connection, within the limits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use djinn_egress::{Egress, EgressRequest, EgressStream, HttpMethod};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use http::{HeaderName, HeaderValue};
use rmcp::model::RequestId;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

use crate::endpoint::McpEndpoint;
use crate::error::{McpError, McpErrorCode};
use crate::event_limit::EventLimit;

/// Maximum size of an answer.
const MAX_ANSWER_BYTES: u64 = 20_000_000;

/// Maximum size of an event of a stream.
const MAX_EVENT_BYTES: usize = 1_000_000;

/// Maximum number of remembered failures: of requests that no caller waits for.
const MAX_FAILURES: usize = 32;

/// The header with the id of a session.
pub(crate) const SESSION_HEADER: &str = "Mcp-Session-Id";

/// The requests to a server.
#[derive(Clone)]
pub(crate) struct HttpRequests {
    egress: Egress,
    endpoint: Arc<McpEndpoint>,
    failures: Failures,
}

/// The reasons for failed requests. `rmcp` reports only that a request failed.
#[derive(Clone, Default)]
pub(crate) struct Failures(Arc<Mutex<Vec<(RequestId, McpError)>>>);

impl Failures {
    fn record(&self, id: RequestId, error: McpError) {
        let mut failures = self.lock();
        if failures.len() >= MAX_FAILURES {
            failures.remove(0);
        }
        failures.push((id, error));
    }

    /// Removes and returns the failure of a request.
    pub(crate) fn take(&self, id: &RequestId) -> Option<McpError> {
        let mut failures = self.lock();
        let position = failures.iter().position(|(failed, _)| failed == id)?;
        Some(failures.remove(position).1)
    }

    /// Removes all failures, and returns the last.
    pub(crate) fn take_last(&self) -> Option<McpError> {
        self.lock().drain(..).next_back().map(|(_, error)| error)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(RequestId, McpError)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) type PostResult = Result<StreamableHttpPostResponse, StreamableHttpError<McpError>>;

impl HttpRequests {
    pub(crate) fn new(egress: Egress, endpoint: Arc<McpEndpoint>, failures: Failures) -> Self {
        Self { egress, endpoint, failures }
    }

    /// Returns the URL of the server.
    pub(crate) fn url(&self) -> &str {
        &self.endpoint.url
    }

    /// Sends a request and returns its answer with any status.
    pub(crate) async fn open_stream(
        &self,
        request: EgressRequest,
    ) -> Result<EgressStream, McpError> {
        self.egress.open(request).await.map_err(McpError::from)
    }

    /// Returns a request to the server, with the endpoint's headers and those of the protocol.
    #[allow(clippy::disallowed_methods, reason = "the order of headers means nothing")]
    pub(crate) fn build_request(
        &self,
        method: HttpMethod,
        session_id: Option<&str>,
        headers: &HashMap<HeaderName, HeaderValue>,
    ) -> EgressRequest {
        let request = EgressRequest {
            method,
            accept_redirects: false,
            max_bytes: MAX_ANSWER_BYTES,
            ..EgressRequest::get(&self.endpoint.url)
        };
        let request = self.endpoint.headers.iter().fold(request, |request, header| {
            if header.is_key {
                request.with_key(&header.name, &header.value)
            } else {
                request.with_header(&header.name, &header.value)
            }
        });
        let headers =
            headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let session = session_id.map(|id| (SESSION_HEADER, id));
        headers
            .chain(session)
            .fold(request, |request, (name, value)| request.with_header(name, value))
    }

    /// Keeps the reason for a failed request.
    pub(crate) fn record_failure(&self, id: RequestId, error: McpError) {
        self.failures.record(id, error);
    }

    /// Returns the events of a stream. An error is recorded as the failure of the request with this id.
    pub(crate) fn read_events(
        &self,
        answer: EgressStream,
        id: Option<&RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let failures = self.failures.clone();
        let id = id.cloned();
        let limit = EventLimit::new(MAX_EVENT_BYTES);
        let pieces = stream::try_unfold((answer, limit), async move |(mut answer, mut limit)| {
            let piece: Result<Option<Bytes>, McpError> = match answer.next_chunk().await {
                Ok(Some(piece)) if !limit.accept(&piece) => {
                    let detail = format!("an event has more than {MAX_EVENT_BYTES} bytes");
                    Err(McpError::new(McpErrorCode::TooLarge, detail))
                }
                other => other.map_err(McpError::from),
            };
            piece.map(|piece| piece.map(|piece| (piece, (answer, limit))))
        });
        let pieces = pieces.inspect(move |piece| {
            if let (Err(error), Some(id)) = (piece, &id) {
                failures.record(id.clone(), error.clone());
            }
        });
        // Without an id, `rmcp` does not wait to resume the stream.
        let events = SseStream::from_bytes_stream(pieces.boxed());
        events.map(|event| event.map(|event| Sse { id: None, retry: None, ..event })).boxed()
    }
}

pub(crate) fn client_error(error: impl Into<McpError>) -> StreamableHttpError<McpError> {
    StreamableHttpError::Client(error.into())
}
