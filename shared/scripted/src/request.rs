//! A request as received by a model.

mod progress;
mod size;
mod transcript;

use std::sync::{Arc, OnceLock};

use axum::http::HeaderMap;
use serde_json::Value;

use crate::wire::{ParsedRequest, ProviderProtocol};
use progress::Progress;
pub(crate) use progress::ResponseDelivery;

/// A recorded request, parsed from any protocol, and the progress of its response. Clones are the same
/// request.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    inner: Arc<RequestInner>,
}

#[derive(Debug)]
struct RequestInner {
    number: usize,
    protocol: ProviderProtocol,
    headers: HeaderMap,
    json: Value,
    body_bytes: usize,
    parsed: ParsedRequest,
    text: OnceLock<String>,
    progress: Progress,
}

/// A message of the conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RecordedMessage {
    /// The author of the message; a message with results only is from [`MessageRole::Tool`].
    pub role: MessageRole,
    /// The text; several parts are joined with a line break.
    pub text: String,
    /// The reasoning of the model before the text.
    pub reasoning: String,
    /// The calls of the model.
    pub calls: Vec<RecordedCall>,
    /// The results of earlier calls.
    pub results: Vec<RecordedResult>,
    /// The images in the message.
    pub images: Vec<RecordedImage>,
}

/// An image of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedImage {
    /// The media type; empty for Ollama, whose protocol has none.
    pub media_type: String,
    /// The content in base64, as sent.
    pub content: String,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageRole {
    /// The user, or the loop in the user's place.
    #[default]
    User,
    /// The model, in an earlier reply.
    Assistant,
    /// Tools: the message has results only.
    Tool,
}

/// A tool call in an earlier reply of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// The id shared by call and result. For Ollama, without ids: `#1`, `#2`, … in order.
    pub id: String,
    /// The tool's name as written by the model, offered or not.
    pub tool: String,
    /// The arguments; a string if not JSON.
    pub arguments: Value,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedResult {
    /// The id of the call; for Ollama counted like [`RecordedCall::id`].
    pub id: String,
    /// The tool of the call with this id; empty without such a call.
    pub tool: String,
    /// The complete text; several parts are joined with a line break.
    pub text: String,
}

/// A tool offered in the request.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTool {
    /// The name for calls of the tool.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The JSON Schema of the tool's arguments.
    pub schema: Value,
}

/// The frame around foreign text: our prompt `frame/untrusted`.
const FRAME: [&str; 2] = ["<untrusted>\n", "\n</untrusted>"];

/// Removes the frames in the texts of a body.
fn without_frames(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            FRAME.iter().fold(text.clone(), |text, frame| text.replace(frame, "")).into()
        }
        Value::Array(items) => items.iter().map(without_frames).collect(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| (name.clone(), without_frames(value));
            members.iter().map(member).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

impl RecordedRequest {
    /// Returns the request without frames, for searching framed text. `None` only if it cannot be parsed.
    pub(crate) fn without_frames(&self) -> Option<Self> {
        let RequestInner { number, protocol, headers, json, body_bytes, .. } = &*self.inner;
        let json = without_frames(json);
        Self::new(*number, *protocol, headers.clone(), json, *body_bytes).ok()
    }

    pub(crate) fn new(
        number: usize,
        protocol: ProviderProtocol,
        headers: HeaderMap,
        json: Value,
        body_bytes: usize,
    ) -> Result<Self, String> {
        let content = protocol.parse_request(&json)?;
        Ok(Self {
            inner: Arc::new(RequestInner {
                number,
                protocol,
                headers,
                json,
                body_bytes,
                parsed: content,
                text: OnceLock::new(),
                progress: Progress::default(),
            }),
        })
    }

    /// Returns the number of the request, from 1 in order of arrival.
    #[must_use]
    pub fn number(&self) -> usize {
        self.inner.number
    }

    /// Returns the protocol of the request.
    #[must_use]
    pub fn protocol(&self) -> ProviderProtocol {
        self.inner.protocol
    }

    /// Returns the value of a header, if present and text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers.get(name)?.to_str().ok()
    }

    /// Returns every text header, with names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let headers = self.inner.headers.iter();
        headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
    }

    /// Returns the requested model; empty if missing.
    #[must_use]
    pub fn model(&self) -> &str {
        let model = self.inner.json.get("model").and_then(Value::as_str);
        model.unwrap_or_default()
    }

    /// Returns all system texts joined; empty if there are none.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.inner.parsed.system
    }

    /// Returns the conversation, oldest first, without the instructions.
    #[must_use]
    pub fn messages(&self) -> &[RecordedMessage] {
        &self.inner.parsed.messages
    }

    /// Returns the text of the newest user message; empty if there is none.
    #[must_use]
    pub fn last_user_text(&self) -> &str {
        let user = |message: &&RecordedMessage| message.role == MessageRole::User;
        let last = self.messages().iter().rfind(user);
        last.map_or("", |message| &message.text)
    }

    /// Returns the tools offered to the model.
    #[must_use]
    pub fn tools(&self) -> &[RequestTool] {
        &self.inner.parsed.tools
    }

    /// Returns true if the model may call this tool.
    #[must_use]
    pub fn offers_tool(&self, tool: &str) -> bool {
        self.tool_choice() != Some("none") && self.tools().iter().any(|offer| offer.name == tool)
    }

    /// Returns `auto`, `none`, `required`, or the name of the one tool to call; `None` if not given.
    #[must_use]
    pub fn tool_choice(&self) -> Option<&str> {
        self.inner.parsed.tool_choice.as_deref()
    }

    /// Returns the temperature, if given.
    #[must_use]
    pub fn temperature(&self) -> Option<f64> {
        self.inner.parsed.temperature
    }

    /// Returns the body as sent.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.inner.json
    }

    /// Returns every result of this tool, oldest first.
    pub fn results_for(&self, tool: &str) -> impl Iterator<Item = &RecordedResult> {
        let results = self.messages().iter().flat_map(|message| &message.results);
        results.filter(move |result| result.tool == tool)
    }

    /// Returns every image of the conversation, oldest first.
    pub fn images(&self) -> impl Iterator<Item = &RecordedImage> {
        self.messages().iter().flat_map(|message| &message.images)
    }

    /// Returns true if the request has a result of this tool.
    #[must_use]
    pub fn has_result_for(&self, tool: &str) -> bool {
        self.results_for(tool).next().is_some()
    }

    /// Returns the text for matching rules: `user …`, `assistant …`, `call tool {"json":…}` and `result tool
    /// …`. Each is a complete line; the instructions are excluded.
    #[must_use]
    pub fn text(&self) -> &str {
        self.inner.text.get_or_init(|| transcript::entry_lines(self.messages()).join("\n"))
    }

    /// Returns numbered lines for snapshots, one per text, call and result. Line breaks are shown as `⏎`, and
    /// long texts are cut.
    #[must_use]
    pub fn transcript(&self) -> String {
        transcript::number_lines(self.system(), self.messages())
    }

    /// Returns the number of response chunks handed to the socket.
    #[must_use]
    pub fn chunks_sent(&self) -> usize {
        self.inner.progress.current_state().chunks
    }

    /// Returns the number of body bytes handed to the socket.
    #[must_use]
    pub fn bytes_sent(&self) -> usize {
        self.inner.progress.current_state().bytes
    }

    /// Returns true if the client closed the connection before the end of the response.
    #[must_use]
    pub fn is_closed_early(&self) -> bool {
        self.inner.progress.current_state().is_closed_early()
    }

    /// Waits until the response has ended, or the client has disconnected.
    pub async fn wait_until_ended(&self) {
        self.inner.progress.wait_until_ended().await;
    }

    pub(crate) fn body_bytes(&self) -> usize {
        self.inner.body_bytes
    }

    pub(crate) fn start_delivery(&self) -> ResponseDelivery {
        ResponseDelivery::of(self.clone())
    }

    /// Returns the messages of the current run: all after the last reply without calls, which ended an
    /// earlier run.
    pub(crate) fn run_messages(&self) -> &[RecordedMessage] {
        let messages = self.messages();
        let is_final = |message: &RecordedMessage| {
            message.role == MessageRole::Assistant && message.calls.is_empty()
        };
        let start = messages.iter().rposition(is_final).map_or(0, |last| last + 1);
        messages.get(start..).unwrap_or_default()
    }

    /// Returns the answered calls of the current run, with their results.
    pub(crate) fn answered_calls(&self) -> impl Iterator<Item = (&RecordedCall, &RecordedResult)> {
        let calls = self.run_messages().iter().flat_map(|message| &message.calls);
        let results = |call: &RecordedCall| {
            let mut all = self.run_messages().iter().flat_map(|message| &message.results);
            all.find(|result| result.id == call.id)
        };
        calls.filter_map(move |call| Some((call, results(call)?)))
    }
}
