//! HTTP with server-sent events, of the revision 2024-11-05: requests are posted, and all answers arrive on one stream.

use std::collections::HashMap;
use std::sync::Arc;

use djinn_egress::{EgressRequest, HttpMethod, Url};
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{SseError, StreamableHttpPostResponse};
use sse_stream::Sse;
use tokio::sync::Mutex;

use crate::error::{McpError, McpErrorCode};
use crate::http_requests::{HttpRequests, PostResult, client_error};

/// The stream of a connection, opened by the first request. One request waits for its answer at a time.
#[derive(Clone, Default)]
pub(crate) struct EventChannel(Arc<Mutex<Option<OpenChannel>>>);

struct OpenChannel {
    /// The URL for requests, of the same origin as the stream.
    post_url: String,
    events: BoxStream<'static, Result<Sse, SseError>>,
}

impl EventChannel {
    /// Posts a message. Returns the answer to a request from the stream.
    pub(crate) async fn post(
        &self,
        requests: &HttpRequests,
        message: &ClientJsonRpcMessage,
        headers: &HashMap<HeaderName, HeaderValue>,
    ) -> PostResult {
        let mut state = self.0.lock().await;
        let mut open = match state.take() {
            Some(open) => open,
            None => OpenChannel::open(requests).await.map_err(client_error)?,
        };
        let request = EgressRequest {
            url: open.post_url.clone(),
            body: Some(serde_json::to_vec(message)?),
            ..requests.build_request(HttpMethod::Post, None, headers)
        };
        let request = request.with_header("Content-Type", "application/json");
        let answer = requests.open_stream(request).await.map_err(client_error)?;
        let status = answer.status();
        drop(answer);
        if !(200..300).contains(&status) {
            let code = match status {
                300..400 => McpErrorCode::Redirect,
                _ => McpErrorCode::Status,
            };
            return Err(client_error(McpError::new(code, "").with_status(status)));
        }
        let response = match message {
            JsonRpcMessage::Request(request) => {
                let answer = open.read_answer(&request.id).await.map_err(client_error)?;
                StreamableHttpPostResponse::Json(answer, None)
            }
            _ => StreamableHttpPostResponse::Accepted,
        };
        // After an error, the stream is closed instead.
        *state = Some(open);
        Ok(response)
    }
}

impl OpenChannel {
    /// Opens the stream, which begins with the URL for requests.
    async fn open(requests: &HttpRequests) -> Result<Self, McpError> {
        let request = requests.build_request(HttpMethod::Get, None, &HashMap::new());
        let answer =
            requests.open_stream(request.with_header("Accept", "text/event-stream")).await?;
        if answer.status() != 200 {
            let error = McpError::new(McpErrorCode::Status, "");
            return Err(error.with_status(answer.status()));
        }
        let mut events = requests.read_events(answer, None);
        while let Some(event) = events.next().await {
            let event = event.map_err(|error| explain_stream(&error))?;
            if event.event.as_deref() == Some("endpoint") {
                let post_url =
                    find_post_url(requests.url(), event.data.as_deref().unwrap_or_default())?;
                return Ok(Self { post_url, events });
            }
        }
        Err(McpError::protocol("the stream names no endpoint"))
    }

    /// Reads the stream up to the answer with this id. Other messages are skipped: late answers, notifications, and
    /// requests, since the client has no capabilities.
    async fn read_answer(&mut self, id: &RequestId) -> Result<ServerJsonRpcMessage, McpError> {
        while let Some(event) = self.events.next().await {
            let event = event.map_err(|error| explain_stream(&error))?;
            let data = event.data.unwrap_or_default();
            let Ok(message) = serde_json::from_str::<ServerJsonRpcMessage>(&data) else { continue };
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            if answered.is_some_and(|answered| answered.to_string() == id.to_string()) {
                return Ok(message);
            }
        }
        Err(McpError::protocol("the stream ended without an answer"))
    }
}

/// Returns the URL for requests. Keys go to no other origin.
fn find_post_url(server: &str, endpoint: &str) -> Result<String, McpError> {
    let refuse = || McpError::protocol("the endpoint of the stream is of another origin");
    let base = Url::parse(server).map_err(|_| refuse())?;
    let url = base.join(endpoint.trim()).map_err(|_| refuse())?;
    if url.origin() == base.origin() { Ok(url.into()) } else { Err(refuse()) }
}

fn explain_stream(error: &SseError) -> McpError {
    let cause = match error {
        SseError::Body(cause) => cause.downcast_ref::<McpError>().cloned(),
        _ => None,
    };
    cause.unwrap_or_else(|| McpError::protocol("the stream is no stream of events"))
}
