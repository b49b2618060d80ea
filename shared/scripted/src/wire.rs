//! The protocols: parsing of requests, and the format of streams.

mod anthropic;
mod ollama;
mod openai;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::request::{RecordedMessage, RecordedRequest, RequestTool};
use crate::response::{ProviderError, ResponseContent, ResponseEnding, ScriptedResponse};

/// The protocol of a request and its response stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderProtocol {
    /// Chat completions: server-sent events, ended by `[DONE]`.
    OpenAi,
    /// Messages: named server-sent events.
    Anthropic,
    /// Ollama's own chat: a JSON object per line.
    Ollama,
}

/// The content of a request, in any protocol.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParsedRequest {
    pub(crate) system: String,
    pub(crate) messages: Vec<RecordedMessage>,
    pub(crate) tools: Vec<RequestTool>,
    pub(crate) tool_choice: Option<String>,
    pub(crate) temperature: Option<f64>,
}

/// A response as HTTP chunks.
#[derive(Debug)]
pub(crate) struct EncodedResponse {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) chunks: Vec<Vec<u8>>,
}

impl ProviderProtocol {
    pub(crate) fn parse_request(self, body: &Value) -> Result<ParsedRequest, String> {
        // Ollama streams by default.
        let streams = body.get("stream").and_then(Value::as_bool);
        if !streams.unwrap_or(self == Self::Ollama) {
            return Err("it does not ask for a stream, and only streams are scripted".to_owned());
        }
        let mut request = match self {
            Self::OpenAi => openai::parse_request(body),
            Self::Anthropic => anthropic::parse_request(body),
            Self::Ollama => ollama::parse_request(body),
        }?;
        // Each result names its tool, from the newest call with the same id.
        let mut tools = BTreeMap::new();
        for message in &mut request.messages {
            for call in &message.calls {
                tools.insert(call.id.clone(), call.tool.clone());
            }
            for result in &mut message.results {
                if let Some(tool) = tools.get(&result.id) {
                    result.tool.clone_from(tool);
                }
            }
        }
        Ok(request)
    }

    pub(crate) fn encode_response(
        self,
        response: &ScriptedResponse,
        to: &RecordedRequest,
    ) -> EncodedResponse {
        let (status, content_type, mut chunks) = match &response.content {
            ResponseContent::Reply(reply) => {
                let event_stream = "text/event-stream; charset=utf-8";
                match self {
                    Self::OpenAi => (200, event_stream, openai::encode_chunks(reply, to)),
                    Self::Anthropic => (200, event_stream, anthropic::encode_chunks(reply, to)),
                    Self::Ollama => (200, "application/x-ndjson", ollama::encode_chunks(reply, to)),
                }
            }
            ResponseContent::Error(error) => {
                let body = self.error_body(error).to_string();
                (error.status, "application/json", vec![body.into_bytes()])
            }
            ResponseContent::Json { status, body } => {
                let body = body.to_string();
                (*status, "application/json", vec![body.into_bytes()])
            }
            ResponseContent::Raw { content_type, chunks } => {
                (200, content_type.as_str(), chunks.clone())
            }
        };
        // An empty HTTP chunk would end the body.
        chunks.retain(|chunk| !chunk.is_empty());
        if let ResponseEnding::Fail { after, kind, message } = &response.ending {
            let error = self.error_body(&ProviderError {
                status: 200,
                kind: kind.clone(),
                code: None,
                message: message.clone(),
            });
            let chunk = match self {
                Self::OpenAi => format!("data: {error}\n\n"),
                Self::Anthropic => format!("event: error\ndata: {error}\n\n"),
                Self::Ollama => format!("{error}\n"),
            };
            chunks.truncate(*after);
            chunks.push(chunk.into_bytes());
        }
        EncodedResponse { status, content_type: content_type.to_owned(), chunks }
    }

    fn error_body(self, error: &ProviderError) -> Value {
        let ProviderError { kind, code, message, .. } = error;
        let inner = json!({"message": message, "type": kind, "code": code});
        match self {
            Self::OpenAi => json!({"error": inner}),
            Self::Anthropic => json!({"type": "error", "error": inner}),
            Self::Ollama => json!({"error": message}),
        }
    }
}

/// Returns the elements of an array; none if missing or of another type.
fn items_at<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let array = value.get(key).and_then(Value::as_array);
    array.map_or(&[], Vec::as_slice)
}

/// Returns a string below `value`; empty if missing or of another type.
fn string_at(value: &Value, pointer: &str) -> String {
    let string = value.pointer(pointer).and_then(Value::as_str);
    string.unwrap_or_default().to_owned()
}

/// Returns a message's content as text: a string, or its parts. Parts without text show their type.
fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().map(|part| {
                let text = part.get("text").and_then(Value::as_str);
                text.map_or_else(|| format!("[{}]", string_at(part, "/type")), str::to_owned)
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(_) | None => String::new(),
    }
}

/// Parses the tools of OpenAI and Ollama.
fn function_tools(body: &Value) -> Vec<RequestTool> {
    let tools = items_at(body, "tools").iter();
    let tools = tools.map(|tool| RequestTool {
        name: string_at(tool, "/function/name"),
        description: string_at(tool, "/function/description"),
        schema: tool.pointer("/function/parameters").cloned().unwrap_or_default(),
    });
    tools.collect()
}
