//! The protocols: how each is read, and what its streams look like.

mod anthropic;
mod ollama;
mod openai;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::request::{Message, Request, Tool};
use crate::response::{Content, Ending, ProviderError, Response};

/// A provider's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Chat completions: server-sent events, ended by `[DONE]`.
    OpenAi,
    /// Messages: named server-sent events.
    Anthropic,
    /// Ollama's own chat: a JSON object per line.
    Ollama,
}

/// What a request asks, whatever its protocol.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) tool_choice: Option<String>,
    pub(crate) temperature: Option<f64>,
}

/// A response as HTTP carries it.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) chunks: Vec<Vec<u8>>,
}

impl Protocol {
    pub(crate) fn read(self, body: &Value) -> Result<Asked, String> {
        // Ollama streams unless told otherwise.
        let streams = body.get("stream").and_then(Value::as_bool);
        if !streams.unwrap_or(self == Self::Ollama) {
            return Err("it does not ask for a stream, and only streams are scripted".to_owned());
        }
        let mut asked = match self {
            Self::OpenAi => openai::read(body),
            Self::Anthropic => anthropic::read(body),
            Self::Ollama => ollama::read(body),
        }?;
        name_results(&mut asked.messages);
        Ok(asked)
    }

    pub(crate) fn encode(self, response: &Response, to: &Request) -> Encoded {
        let (status, content_type, mut chunks) = match &response.content {
            Content::Said(said) => {
                let chunks = match self {
                    Self::OpenAi => openai::chunks(said, to),
                    Self::Anthropic => anthropic::chunks(said, to),
                    Self::Ollama => ollama::chunks(said, to),
                };
                (200, self.stream_type(), chunks)
            }
            Content::Error(error) => {
                let body = self.error(error).to_string();
                (error.status, "application/json", vec![body.into_bytes()])
            }
            Content::Json { status, body } => {
                let body = body.to_string();
                (*status, "application/json", vec![body.into_bytes()])
            }
            Content::Raw { content_type, chunks } => (200, content_type.as_str(), chunks.clone()),
        };
        // An empty HTTP chunk would end the body.
        chunks.retain(|chunk| !chunk.is_empty());
        if let Ending::Fail { after, kind, message } = &response.ending {
            chunks.truncate(*after);
            chunks.push(self.error_in_stream(kind, message));
        }
        Encoded { status, content_type: content_type.to_owned(), chunks }
    }

    fn stream_type(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic => "text/event-stream; charset=utf-8",
            Self::Ollama => "application/x-ndjson",
        }
    }

    fn error(self, error: &ProviderError) -> Value {
        let ProviderError { kind, code, message, .. } = error;
        let inner = json!({"message": message, "type": kind, "code": code});
        match self {
            Self::OpenAi => json!({"error": inner}),
            Self::Anthropic => json!({"type": "error", "error": inner}),
            Self::Ollama => json!({"error": message}),
        }
    }

    fn error_in_stream(self, kind: &str, message: &str) -> Vec<u8> {
        let error = self.error(&ProviderError {
            status: 200,
            kind: kind.to_owned(),
            code: None,
            message: message.to_owned(),
        });
        match self {
            Self::OpenAi => format!("data: {error}\n\n"),
            Self::Anthropic => format!("event: error\ndata: {error}\n\n"),
            Self::Ollama => format!("{error}\n"),
        }
        .into_bytes()
    }
}

/// Names each result after the newest call with its id.
fn name_results(messages: &mut [Message]) {
    let mut tools = BTreeMap::new();
    for message in messages {
        for call in &message.calls {
            tools.insert(call.id.clone(), call.tool.clone());
        }
        for result in &mut message.results {
            if let Some(tool) = tools.get(&result.id) {
                result.tool.clone_from(tool);
            }
        }
    }
}

/// The elements of an array; none if it is missing or something else.
fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    let array = value.get(key).and_then(Value::as_array);
    array.map_or(&[], Vec::as_slice)
}

/// A string below `value`; empty if it is missing or something else.
fn string(value: &Value, pointer: &str) -> String {
    let string = value.pointer(pointer).and_then(Value::as_str);
    string.unwrap_or_default().to_owned()
}

/// A message's content as text: a string, or parts of which those without text show their type.
fn text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().map(|part| {
                let text = part.get("text").and_then(Value::as_str);
                text.map_or_else(|| format!("[{}]", string(part, "/type")), str::to_owned)
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(_) | None => String::new(),
    }
}

/// The tools of OpenAI and Ollama.
fn function_tools(body: &Value) -> Vec<Tool> {
    let tools = items(body, "tools").iter();
    let tools = tools.map(|tool| Tool {
        name: string(tool, "/function/name"),
        description: string(tool, "/function/description"),
        schema: tool.pointer("/function/parameters").cloned().unwrap_or_default(),
    });
    tools.collect()
}
