//! Renders errors in the format of each path's client. JoyAgent's pages know neither Djinn's codes nor its
//! fields, and a page waiting for an event stays locked without one.

use axum::body::Body;
use axum::extract::State;
use axum::http::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use axum::middleware::Next;
use axum::response::Response;
use djinn_core::error_code::ErrorCode;
use djinn_core::language::Language;
use djinn_protocol::body::{ChatErrorBody, FeedbackErrorBody, PageErrorBody};
use djinn_protocol::mcp::{McpErrorKind, error_body};
use djinn_protocol::{joyagent_data, joyagent_ui};
use djinn_runtime::port::clock::Clock;
use djinn_runtime::world::Ports;
use serde::Serialize;
use serde_json::Value;

use crate::agent::SharedAgent;
use crate::api_error::{ApiError, REQUEST_ID};
use crate::identity::Auth;
use crate::origin::request_origin;
use crate::route::{ASK_DATA, QUERY_AGENT};

/// The header with which OpenAI's SDKs let a server forbid repeats.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The header with the code of an error whose body is a sentence, and with the invalid field after a space.
const ERROR: HeaderName = HeaderName::from_static("djinn-error");

/// The path of the document with the issuer of tokens for the MCP server.
const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource/mcp";

/// The format of a path's responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// Djinn's own clients: a code, a sentence, a field.
    Native,
    /// The chat of JoyAgent's UI, which reads only events.
    Chat,
    /// JoyAgent's data questions, with separate events.
    Data,
    /// Other calls of JoyAgent's UI; the UI displays `msg`.
    Page,
    /// The responses to human requests; the client reads `success`.
    Feedback,
    /// OpenAI's APIs: an object `error`.
    OpenAi,
    /// Clients of the AI SDK and of AG-UI, which show the body as it is.
    Sentence,
    /// The MCP server: an error of JSON-RPC. The id of the request is not known.
    Mcp,
}

impl Dialect {
    fn of(path: &str) -> Self {
        let is_below = |parent: &str| path.starts_with(parent);
        if path == QUERY_AGENT {
            Self::Chat
        } else if path == ASK_DATA {
            Self::Data
        } else if is_below("/data/") || is_below("/web/api/") {
            Self::Page
        } else if is_below("/api/feedback/") {
            Self::Feedback
        } else if ["/v1/chat/", "/v1/responses"].into_iter().any(is_below) || path == "/v1/models" {
            Self::OpenAi
        } else if is_below("/ai/") || path == "/agui" {
            Self::Sentence
        } else if path == "/mcp" {
            Self::Mcp
        } else {
            Self::Native
        }
    }

    /// Returns the error's media type and body. In the chat's format, the body contains the request's id.
    fn error_body(
        self,
        refusal: &ApiError,
        request: &str,
        language: Language,
        at_ms: i64,
    ) -> (&'static str, String) {
        let failure = &refusal.failure;
        let error = || refusal.body(language);
        match self {
            Self::Native => to_json(&error()),
            Self::Chat => {
                let event = joyagent_ui::refusal_frame(request, failure, language, at_ms);
                ("text/event-stream", event)
            }
            Self::Data => ("text/event-stream", joyagent_data::refusal_stream(failure, language)),
            Self::Page => {
                to_json(&PageErrorBody { error: error(), msg: failure.sentence(language) })
            }
            Self::Feedback => to_json(&FeedbackErrorBody { error: error(), success: false }),
            Self::OpenAi => to_json(&ChatErrorBody::new(&error(), refusal.status().as_u16())),
            Self::Sentence => ("text/plain; charset=utf-8", failure.sentence(language)),
            Self::Mcp => {
                let kind = match failure.code {
                    ErrorCode::InvalidJson => McpErrorKind::Parse,
                    _ => McpErrorKind::Other,
                };
                to_json(&error_body(&Value::Null, kind, &error()))
            }
        }
    }
}

fn to_json(body: &impl Serialize) -> (&'static str, String) {
    ("application/json", serde_json::to_string(body).unwrap_or_default())
}

/// Adds to an error the body for the path's client. Status and headers stay.
pub(crate) async fn render_error<P: Ports>(
    State(agent): State<SharedAgent<P>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let dialect = Dialect::of(request.uri().path());
    let (parts, body) = request.into_parts();
    let resource = match (dialect, &agent.settings.auth) {
        (Dialect::Mcp, Auth::Jwt(_)) => Some(request_origin(&parts, &agent.settings)),
        _ => None,
    };
    let response = next.run(Request::from_parts(parts, body)).await;
    let Some(refusal) = response.extensions().get::<ApiError>() else { return response };
    let language = refusal.language.unwrap_or(agent.settings.run.language);
    let now_ms = agent.ports.clock().now_ms();
    let request = response.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let (kind, body) = dialect.error_body(refusal, request.unwrap_or_default(), language, now_ms);
    let is_final = dialect == Dialect::OpenAi && !refusal.body(language).retryable;
    let words = [Some(refusal.failure.code.as_str()), refusal.field()];
    let words = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let words = HeaderValue::from_str(&words).ok().filter(|_| dialect == Dialect::Sentence);
    let error_header = words.map(|words| (ERROR, words));
    let mut parts = response.into_parts().0;
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    parts.headers.extend(error_header);
    if let (Some(origin), Some(challenge)) = (resource, parts.headers.get_mut(WWW_AUTHENTICATE)) {
        let words = challenge.to_str().unwrap_or_default();
        let words = format!("{words}, resource_metadata=\"{origin}{RESOURCE_METADATA}\"");
        *challenge = HeaderValue::from_str(&words).unwrap_or_else(|_| challenge.clone());
    }
    if is_final {
        // OpenAI's SDKs repeat a 409 otherwise, as if it could succeed.
        parts.headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    Response::from_parts(parts, Body::from(body))
}
