//! What a model answers to one request: words and calls, or a fault.

mod reply;

use std::time::Duration;

use serde_json::Value;

use crate::gate::ChunkGate;
pub(crate) use reply::{
    ReplyPart, ReportedUsage, ScriptedCall, ScriptedFinish, ScriptedReply, ScriptedText,
};

/// One answer, written by chaining what the model does in the order it does it. As it stands it
/// says nothing and finishes.
///
/// It is sent in chunks, each flushed on its own: chunk 0 opens the reply, then comes one per
/// delta (a call has one for its name and then those of its arguments), and a last one that closes
/// the reply with its finish reason and usage. OpenAI and Anthropic number alike; Ollama has no
/// opening and sends each call as one chunk.
#[derive(Debug, Clone, Default)]
pub struct ScriptedResponse {
    pub(crate) content: ResponseContent,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) gates: Vec<(usize, ChunkGate)>,
    pub(crate) delay: Option<Duration>,
    pub(crate) total_time: Option<Duration>,
    pub(crate) ending: ResponseEnding,
    pub(crate) at_once: bool,
    pub(crate) has_stamps: bool,
}

/// What [`ScriptedResponse::with_stamps`] writes over.
pub const STAMP: &str = "@0000000000000000";

#[derive(Debug, Clone)]
pub(crate) enum ResponseContent {
    Reply(ScriptedReply),
    Error(ProviderError),
    Json { status: u16, body: Value },
    Raw { content_type: String, chunks: Vec<Vec<u8>> },
}

/// An error in a provider's words.
#[derive(Debug, Clone)]
pub(crate) struct ProviderError {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) code: Option<String>,
    pub(crate) message: String,
}

/// How a response ends.
#[derive(Debug, Clone, Default)]
pub(crate) enum ResponseEnding {
    #[default]
    Complete,
    CutAfter(usize),
    HangAfter(usize),
    Fail {
        after: usize,
        kind: String,
        message: String,
    },
    Silent,
}

impl Default for ResponseContent {
    fn default() -> Self {
        Self::Reply(ScriptedReply::default())
    }
}

impl ScriptedResponse {
    /// Says a text, usually the answer.
    #[must_use]
    pub fn reply(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.push_part(ReplyPart::Text(ScriptedText::Whole(text)))
    }

    /// Says a text before calls; the same as [`Self::reply`].
    #[must_use]
    pub fn say(self, text: impl Into<String>) -> Self {
        self.reply(text)
    }

    /// Says a text in exactly these deltas.
    #[must_use]
    pub fn deltas<T: Into<String>>(self, deltas: impl IntoIterator<Item = T>) -> Self {
        let deltas = deltas.into_iter().map(Into::into).collect();
        self.push_part(ReplyPart::Text(ScriptedText::Deltas(deltas)))
    }

    /// Thinks aloud: `reasoning_content` for OpenAI, a signed thinking block for Anthropic,
    /// `thinking` for Ollama.
    #[must_use]
    pub fn reason(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.push_part(ReplyPart::Reasoning(text))
    }

    /// Calls a tool. The request must offer it.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a script writes it in place")]
    pub fn call(self, tool: impl Into<String>, arguments: Value) -> Self {
        self.call_text(tool, arguments.to_string())
    }

    /// The tools are called in this order, and the request must offer each.
    #[must_use]
    pub fn calls<T: Into<String>>(self, calls: impl IntoIterator<Item = (T, Value)>) -> Self {
        calls.into_iter().fold(self, |response, (tool, arguments)| response.call(tool, arguments))
    }

    /// Calls a tool with arguments written as they are, to send what is not JSON. Ollama sends
    /// them as a JSON string then.
    #[must_use]
    pub fn call_text(self, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.push_part(ReplyPart::Call(ScriptedCall {
            tool: tool.into(),
            arguments: arguments.into(),
            must_be_offered: true,
        }))
    }

    /// Calls a tool that the request need not offer, as models sometimes do.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a script writes it in place")]
    pub fn call_unknown(self, tool: impl Into<String>, arguments: Value) -> Self {
        self.push_part(ReplyPart::Call(ScriptedCall {
            tool: tool.into(),
            arguments: arguments.to_string(),
            must_be_offered: false,
        }))
    }

    /// Cuts texts and arguments into deltas of so many characters, at least 1; 12 unless given.
    #[must_use]
    pub fn delta_chars(self, characters: usize) -> Self {
        self.edit_reply(|said| said.delta_chars = characters.max(1))
    }

    /// The tokens it reports: 100, 20, 0 unless given. `input` includes the `cached` ones. OpenAI
    /// reports them only where the request asks for `stream_options.include_usage`.
    #[must_use]
    pub fn usage(self, input: u64, output: u64, cached: u64) -> Self {
        let usage = ReportedUsage { input, output, cached };
        self.edit_reply(|said| said.usage = Some(usage))
    }

    /// The reply reports no counts of tokens, not even zeros.
    #[must_use]
    pub fn no_usage(self) -> Self {
        self.edit_reply(|said| said.usage = None)
    }

    /// The reason it finishes with, in OpenAI's words (`stop`, `length`, `tool_calls`,
    /// `content_filter`), translated for Anthropic; others are sent as they are.
    #[must_use]
    pub fn finish(self, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        self.edit_reply(|said| said.finish = ScriptedFinish::Reason(reason))
    }

    /// Gives no finish reason.
    #[must_use]
    pub fn no_finish(self) -> Self {
        self.edit_reply(|said| said.finish = ScriptedFinish::Missing)
    }

    /// Ends the body properly but without `[DONE]` (OpenAI), `message_stop` (Anthropic) or the
    /// `done` line with its reason and usage (Ollama).
    #[must_use]
    pub fn no_done(self) -> Self {
        self.edit_reply(|said| said.done = false)
    }

    /// Refuses with a status and the provider's usual error body for it.
    #[must_use]
    pub fn status(self, status: u16) -> Self {
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            400..=499 => "invalid_request_error",
            _ => "api_error",
        };
        self.error(status, kind, None, format!("scripted status {status}"))
    }

    /// Refuses with a status and an error in the provider's shape.
    #[must_use]
    pub fn error(
        mut self,
        status: u16,
        kind: impl Into<String>,
        code: Option<&str>,
        message: impl Into<String>,
    ) -> Self {
        self.content = ResponseContent::Error(ProviderError {
            status,
            kind: kind.into(),
            code: code.map(str::to_owned),
            message: message.into(),
        });
        self
    }

    /// Answers with a status and exactly this JSON.
    #[must_use]
    pub fn status_body(mut self, status: u16, body: Value) -> Self {
        self.content = ResponseContent::Json { status, body };
        self
    }

    /// The header is added to those there are, even to one of the same name.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a `Retry-After` header.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header("retry-after", seconds.to_string())
    }

    /// Answers with status 200 and exactly these bytes, one HTTP chunk each; empty ones are left
    /// out. Reproduces what providers send in the wild.
    #[must_use]
    pub fn raw<T: Into<Vec<u8>>>(
        mut self,
        content_type: impl Into<String>,
        chunks: impl IntoIterator<Item = T>,
    ) -> Self {
        self.content = ResponseContent::Raw {
            content_type: content_type.into(),
            chunks: chunks.into_iter().map(Into::into).collect(),
        };
        self
    }

    /// Closes the socket after so many chunks, without ending the body.
    #[must_use]
    pub fn cut_after(mut self, chunks: usize) -> Self {
        self.ending = ResponseEnding::CutAfter(chunks);
        self
    }

    /// Sends nothing, not even headers, and keeps the connection open.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.ending = ResponseEnding::Silent;
        self
    }

    /// Sends so many chunks, then nothing more, and keeps the connection open.
    #[must_use]
    pub fn hang_after(mut self, chunks: usize) -> Self {
        self.ending = ResponseEnding::HangAfter(chunks);
        self
    }

    /// Reports an error inside the stream after so many chunks, such as `overloaded_error`, and
    /// ends it.
    #[must_use]
    pub fn fail_after(
        mut self,
        chunks: usize,
        kind: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        self.ending =
            ResponseEnding::Fail { after: chunks, kind: kind.into(), message: message.into() };
        self
    }

    /// Waits at a gate before a chunk; the headers are sent before. Before the first chunk that
    /// does not exist it holds the end of the body.
    #[must_use]
    pub fn with_gate(mut self, chunk: usize, gate: ChunkGate) -> Self {
        self.gates.push((chunk, gate));
        self
    }

    /// Waits before every chunk but the first. For demos: a test uses a gate.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Spreads the whole reply over this time: its chunks follow each other at the same distance. For
    /// benchmarks.
    #[must_use]
    pub fn spread_over(mut self, whole: Duration) -> Self {
        self.total_time = Some(whole);
        self
    }

    /// Does not flush each chunk on its own: what leaves together is up to the socket, as it is
    /// when a provider writes faster than its client reads. For benchmarks.
    #[must_use]
    pub fn at_once(mut self) -> Self {
        self.at_once = true;
        self
    }

    /// Writes the time at which each chunk leaves, in Unix microseconds, over the [`STAMP`] in it.
    #[must_use]
    pub fn with_stamps(mut self) -> Self {
        self.has_stamps = true;
        self
    }

    /// The tools it calls that a request must offer.
    pub(crate) fn offered_calls(&self) -> impl Iterator<Item = &str> {
        let parts = match &self.content {
            ResponseContent::Reply(said) => said.parts.as_slice(),
            ResponseContent::Error(_)
            | ResponseContent::Json { .. }
            | ResponseContent::Raw { .. } => &[],
        };
        parts.iter().filter_map(|part| match part {
            ReplyPart::Call(call) if call.must_be_offered => Some(call.tool.as_str()),
            ReplyPart::Call(_) | ReplyPart::Reasoning(_) | ReplyPart::Text(_) => None,
        })
    }

    /// Bytes of its texts and arguments.
    pub(crate) fn text_bytes(&self) -> usize {
        match &self.content {
            ResponseContent::Reply(said) => said.parts.iter().map(ReplyPart::byte_len).sum(),
            ResponseContent::Error(_)
            | ResponseContent::Json { .. }
            | ResponseContent::Raw { .. } => 0,
        }
    }

    fn push_part(self, part: ReplyPart) -> Self {
        self.edit_reply(|said| said.parts.push(part))
    }

    fn edit_reply(mut self, change: impl FnOnce(&mut ScriptedReply)) -> Self {
        if let ResponseContent::Reply(said) = &mut self.content {
            change(said);
        } else {
            let mut said = ScriptedReply::default();
            change(&mut said);
            self.content = ResponseContent::Reply(said);
        }
        self
    }
}
