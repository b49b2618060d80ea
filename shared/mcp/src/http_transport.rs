//! The transport of a connection. `rmcp` decides which messages are sent, and reads the messages of answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use djinn_egress::{EgressRequest, EgressStream, HttpMethod};
use futures::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use crate::endpoint::McpTransport;
use crate::error::{McpError, McpErrorCode};
use crate::event_channel::EventChannel;
use crate::http_requests::{HttpRequests, PostResult, SESSION_HEADER, client_error};

/// Maximum size of the answer with an error status.
const MAX_ERROR_BYTES: u64 = 100_000;

/// Timeout for closing a session.
const CLOSE_TIME: Duration = Duration::from_secs(2);

/// The transport of a connection.
#[derive(Clone)]
pub(crate) struct HttpTransport {
    requests: HttpRequests,
    /// The stream for answers, if the server speaks [`McpTransport::Sse`].
    channel: Option<EventChannel>,
}

impl HttpTransport {
    pub(crate) fn new(requests: HttpRequests, transport: McpTransport) -> Self {
        let channel = (transport == McpTransport::Sse).then(EventChannel::default);
        Self { requests, channel }
    }

    async fn post(
        &self,
        message: &ClientJsonRpcMessage,
        session_id: Option<&str>,
        headers: &HashMap<HeaderName, HeaderValue>,
    ) -> PostResult {
        if let Some(channel) = &self.channel {
            return channel.post(&self.requests, message, headers).await;
        }
        let body = serde_json::to_vec(message)?;
        let request = EgressRequest {
            body: Some(body),
            ..self.requests.build_request(HttpMethod::Post, session_id, headers)
        };
        let request = request
            .with_header("Content-Type", "application/json")
            .with_header("Accept", "application/json, text/event-stream");
        let answer = self.requests.open_stream(request).await.map_err(client_error)?;
        let JsonRpcMessage::Request(request) = message else {
            return accept_notification(&answer, session_id.is_some());
        };
        let is_discovery = matches!(request.request, ClientRequest::DiscoverRequest(_));
        let status = answer.status();
        match status {
            200..300 => self.read_answer(answer, &request.id).await,
            300..400 => {
                Err(client_error(McpError::new(McpErrorCode::Redirect, "").with_status(status)))
            }
            404 if session_id.is_some() => Err(StreamableHttpError::SessionExpired),
            _ => reject_status(answer, &request.id, session_id.is_some(), is_discovery).await,
        }
    }

    /// Reads the answer to a request: one message, or a stream that contains the message.
    async fn read_answer(&self, mut answer: EgressStream, id: &RequestId) -> PostResult {
        let session_id = answer.find_header(SESSION_HEADER);
        match media_type_of(&answer).as_str() {
            "text/event-stream" => Ok(StreamableHttpPostResponse::Sse(
                self.requests.read_events(answer, Some(id)),
                session_id,
            )),
            "application/json" => {
                let body = answer.read_rest().await.map_err(client_error)?;
                // Large answers take a while to parse.
                let parsing = tokio::task::spawn_blocking(move || {
                    serde_json::from_slice::<ServerJsonRpcMessage>(&body)
                });
                let message = parsing.await?.map_err(|error| {
                    client_error(McpError::protocol(format!("the answer is no JSON-RPC: {error}")))
                })?;
                check_correlation(message, id)
                    .map(|message| StreamableHttpPostResponse::Json(message, session_id))
                    .map_err(client_error)
            }
            other => {
                let status = answer.status();
                let detail = if status == 200 {
                    format!("the answer is neither JSON nor a stream of events, but {other:?}")
                } else {
                    "the server accepted the request without an answer".to_owned()
                };
                Err(client_error(McpError::protocol(detail).with_status(status)))
            }
        }
    }
}

impl StreamableHttpClient for HttpTransport {
    type Error = McpError;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> PostResult {
        let result = self.post(&message, session_id.as_deref(), &headers).await;
        let failure = match &result {
            Err(StreamableHttpError::Client(error)) => Some(error.clone()),
            Err(StreamableHttpError::SessionExpired) => {
                let detail = "the server knows no such session";
                Some(McpError::new(McpErrorCode::Status, detail).with_status(404))
            }
            _ => None,
        };
        if let (Some(failure), JsonRpcMessage::Request(request)) = (failure, message) {
            self.requests.record_failure(request.id, failure);
        }
        result
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), StreamableHttpError<McpError>> {
        let request = self.requests.build_request(HttpMethod::Delete, Some(&session_id), &headers);
        let request = EgressRequest { time_limit: Some(CLOSE_TIME), ..request };
        self.requests.open_stream(request).await.map(drop).map_err(client_error)
    }

    /// Opens no stream for messages without a request, and resumes none: a stream that ends without an answer ends
    /// its call.
    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, StreamableHttpError<McpError>> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

/// Returns the outcome of a message without an answer. The body is not read.
fn accept_notification(answer: &EgressStream, has_session: bool) -> PostResult {
    match answer.status() {
        200..300 => Ok(StreamableHttpPostResponse::Accepted),
        404 if has_session => Err(StreamableHttpError::SessionExpired),
        status => Err(client_error(McpError::new(McpErrorCode::Status, "").with_status(status))),
    }
}

/// Returns the outcome of a request with an error status. An error of JSON-RPC is an answer, except that of a
/// rejected key.
async fn reject_status(
    mut answer: EgressStream,
    id: &RequestId,
    has_session: bool,
    is_discovery: bool,
) -> PostResult {
    let status = answer.status();
    let body = read_error_body(&mut answer).await;
    let text = String::from_utf8_lossy(&body);
    let is_key_problem = matches!(status, 401 | 403);
    if has_session && status == 400 && text.to_lowercase().contains("session") {
        // Some servers reject an unknown session with this status.
        return Err(StreamableHttpError::SessionExpired);
    }
    let message = serde_json::from_slice::<ServerJsonRpcMessage>(&body);
    let error = match message {
        Ok(JsonRpcMessage::Error(error)) if !is_key_problem => Some(error.error),
        _ if is_discovery && (400..500).contains(&status) && !is_key_problem => {
            // Older servers know no discovery, and are then asked as older servers.
            Some(ErrorData::invalid_request(format!("discovery was rejected with {status}"), None))
        }
        _ => None,
    };
    match error {
        Some(error) => {
            // The id of such an error need not be that of the request.
            let message = ServerJsonRpcMessage::error(error, Some(id.clone()));
            Ok(StreamableHttpPostResponse::Json(message, None))
        }
        None => {
            let is_text = matches!(&*media_type_of(&answer), "text/plain" | "application/json");
            let detail = if is_text { text.into_owned() } else { String::new() };
            let error = McpError::new(McpErrorCode::Status, detail).with_status(status);
            Err(client_error(error))
        }
    }
}

/// Returns the start of the body, as far as it can be read.
async fn read_error_body(answer: &mut EgressStream) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = answer.next_chunk().await {
        body.extend_from_slice(&piece);
        if body.len() as u64 >= MAX_ERROR_BYTES {
            break;
        }
    }
    body
}

/// Returns the media type in lower case, without its parameters.
fn media_type_of(answer: &EgressStream) -> String {
    let header = answer.find_header("content-type").unwrap_or_default();
    header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Returns the message if it answers the request. `rmcp` would wait for another answer, which never comes.
fn check_correlation(
    message: ServerJsonRpcMessage,
    id: &RequestId,
) -> Result<ServerJsonRpcMessage, McpError> {
    let foreign = "the answer belongs to another request";
    match message {
        JsonRpcMessage::Response(response) if response.id.to_string() == id.to_string() => {
            Ok(JsonRpcMessage::Response(response))
        }
        JsonRpcMessage::Error(error)
            if error.id.as_ref().is_none_or(|other| other.to_string() == id.to_string()) =>
        {
            Ok(ServerJsonRpcMessage::error(error.error, Some(id.clone())))
        }
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Err(McpError::protocol(foreign)),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {
            Err(McpError::protocol("the answer is a request or a notification"))
        }
    }
}
