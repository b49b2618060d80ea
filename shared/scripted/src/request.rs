//! A request as a model received it.

mod progress;
mod size;
mod transcript;

use std::sync::{Arc, OnceLock};

use axum::http::HeaderMap;
use serde_json::Value;

use crate::wire::{ParsedRequest, ProviderProtocol};
use progress::Progress;
pub(crate) use progress::ResponseDelivery;

/// A recorded request, read the same way whatever the protocol, and what became of its response.
/// Clones are the same request.
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
    /// The role says who spoke; a message of results only is from [`MessageRole::Tool`].
    pub role: MessageRole,
    /// Its text; several parts are joined with a line break.
    pub text: String,
    /// What the model thought before it spoke.
    pub reasoning: String,
    /// What the model called.
    pub calls: Vec<RecordedCall>,
    /// What came of earlier calls.
    pub results: Vec<RecordedResult>,
    /// The images that it shows.
    pub images: Vec<RecordedImage>,
}

/// An image of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedImage {
    /// Its media type; empty for Ollama, which is not told.
    pub media_type: String,
    /// Its content in base64, as it was sent.
    pub content: String,
}

/// Who said a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MessageRole {
    /// The user, or the loop on their behalf.
    #[default]
    User,
    /// The model said it, in an earlier reply.
    Assistant,
    /// Tools: the message holds results only.
    Tool,
}

/// A tool call that the model made earlier.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// Pairs it with its result. Ollama has no ids: `#1`, `#2`, … in their order.
    pub id: String,
    /// The tool's name is as the model wrote it, whether or not it was offered.
    pub tool: String,
    /// Its arguments; a string where they are not JSON.
    pub arguments: Value,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedResult {
    /// The id is that of the call, counted for Ollama as [`RecordedCall::id`] is.
    pub id: String,
    /// The tool of the call with that id; empty if there is none.
    pub tool: String,
    /// The result's text is uncut; several parts are joined with a line break.
    pub text: String,
}

/// A tool that the request offers.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTool {
    /// The name is the one by which the model calls the tool.
    pub name: String,
    /// What the model is told about it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
}

/// What stands around text that others wrote: our prompt `frame/untrusted`.
const FRAME: [&str; 2] = ["<untrusted>\n", "\n</untrusted>"];

/// A body without the frames in its texts.
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
    /// The same request, to be read by who looks for what stands in frames. `None` only if it cannot
    /// be read at all.
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
        let parsed = protocol.parse_request(&json)?;
        Ok(Self {
            inner: Arc::new(RequestInner {
                number,
                protocol,
                headers,
                json,
                body_bytes,
                parsed,
                text: OnceLock::new(),
                progress: Progress::default(),
            }),
        })
    }

    /// Counts requests from 1 in the order they arrived.
    #[must_use]
    pub fn number(&self) -> usize {
        self.inner.number
    }

    /// The protocol it was made in.
    #[must_use]
    pub fn protocol(&self) -> ProviderProtocol {
        self.inner.protocol
    }

    /// The value of a header, if it was sent and is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.inner.headers.get(name)?.to_str().ok()
    }

    /// Every header that is text, names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let headers = self.inner.headers.iter();
        headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
    }

    /// The model it asks for.
    #[must_use]
    pub fn model(&self) -> &str {
        let model = self.inner.json.get("model").and_then(Value::as_str);
        model.unwrap_or_default()
    }

    /// The instructions are all system texts joined; they are empty if there are none.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.inner.parsed.system
    }

    /// The conversation, oldest first, without the instructions.
    #[must_use]
    pub fn messages(&self) -> &[RecordedMessage] {
        &self.inner.parsed.messages
    }

    /// The text of the newest message from the user; empty if there is none.
    #[must_use]
    pub fn last_user_text(&self) -> &str {
        let user = |message: &&RecordedMessage| message.role == MessageRole::User;
        let last = self.messages().iter().rfind(user);
        last.map_or("", |message| &message.text)
    }

    /// The tools it offers.
    #[must_use]
    pub fn tools(&self) -> &[RequestTool] {
        &self.inner.parsed.tools
    }

    /// Whether the model may call this tool.
    #[must_use]
    pub fn offers_tool(&self, tool: &str) -> bool {
        self.tool_choice() != Some("none") && self.tools().iter().any(|known| known.name == tool)
    }

    /// `auto`, `none`, `required`, or the name of the one tool to call; `None` if not given.
    #[must_use]
    pub fn tool_choice(&self) -> Option<&str> {
        self.inner.parsed.tool_choice.as_deref()
    }

    /// The temperature, if given.
    #[must_use]
    pub fn temperature(&self) -> Option<f64> {
        self.inner.parsed.temperature
    }

    /// The body as it was sent.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.inner.json
    }

    /// Every result of this tool, oldest first.
    pub fn results_for(&self, tool: &str) -> impl Iterator<Item = &RecordedResult> {
        let results = self.messages().iter().flat_map(|message| &message.results);
        results.filter(move |result| result.tool == tool)
    }

    /// Every image that it shows, oldest first.
    pub fn images(&self) -> impl Iterator<Item = &RecordedImage> {
        self.messages().iter().flat_map(|message| &message.images)
    }

    /// Whether it holds a result of this tool.
    #[must_use]
    pub fn has_result_for(&self, tool: &str) -> bool {
        self.results_for(tool).next().is_some()
    }

    /// What rules are matched with: `user …`, `assistant …`, `call tool {"json":…}` and
    /// `result tool …`, a line each and uncut, without the instructions.
    #[must_use]
    pub fn text(&self) -> &str {
        self.inner.text.get_or_init(|| transcript::entry_lines(self.messages()).join("\n"))
    }

    /// One numbered line per thing said, for snapshots: line breaks as `⏎`, long texts cut.
    #[must_use]
    pub fn transcript(&self) -> String {
        transcript::number_lines(self.system(), self.messages())
    }

    /// Chunks of the response that were handed to the socket.
    #[must_use]
    pub fn chunks_sent(&self) -> usize {
        self.inner.progress.current_state().chunks
    }

    /// Bytes of the response's body that were handed to the socket.
    #[must_use]
    pub fn bytes_sent(&self) -> usize {
        self.inner.progress.current_state().bytes
    }

    /// Whether the client closed the connection before the response was over.
    #[must_use]
    pub fn is_closed_early(&self) -> bool {
        self.inner.progress.current_state().is_closed_early()
    }

    /// Returns once nothing more will be sent: the response is over, or the client closed it.
    pub async fn wait_until_ended(&self) {
        self.inner.progress.wait_until_ended().await;
    }

    pub(crate) fn body_bytes(&self) -> usize {
        self.inner.body_bytes
    }

    pub(crate) fn start_delivery(&self) -> ResponseDelivery {
        ResponseDelivery::of(self.clone())
    }

    /// The messages of the run at hand: what follows the last reply that called nothing, which
    /// ended an earlier run.
    pub(crate) fn run_messages(&self) -> &[RecordedMessage] {
        let messages = self.messages();
        let ended = |message: &RecordedMessage| {
            message.role == MessageRole::Assistant && message.calls.is_empty()
        };
        let start = messages.iter().rposition(ended).map_or(0, |last| last + 1);
        messages.get(start..).unwrap_or_default()
    }

    /// The calls of the run at hand that were answered, with their results.
    pub(crate) fn answered_calls(&self) -> impl Iterator<Item = (&RecordedCall, &RecordedResult)> {
        let calls = self.run_messages().iter().flat_map(|message| &message.calls);
        let results = |call: &RecordedCall| {
            let mut all = self.run_messages().iter().flat_map(|message| &message.results);
            all.find(|result| result.id == call.id)
        };
        calls.filter_map(move |call| Some((call, results(call)?)))
    }
}
