//! A model's response to one request: texts and calls, or a fault.

mod reply;

use std::time::Duration;

use serde_json::Value;

use crate::gate::ChunkGate;
pub(crate) use reply::{
    ReplyPart, ReportedUsage, ScriptedCall, ScriptedFinish, ScriptedReply, ScriptedText,
};

/// One response, built by chaining the model's actions in order. The default response is empty and finishes.
///
/// The response is sent in chunks, each flushed separately. Chunk 0 opens the reply, followed by one chunk
/// per delta. A call has one chunk for its name and further ones for its arguments. The last chunk has the
/// finish reason and usage. OpenAI and Anthropic have equal numbers; Ollama has no opening and sends each
/// call as one chunk.
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

/// The placeholder replaced by [`ScriptedResponse::with_stamps`].
pub const STAMP: &str = "@0000000000000000";

#[derive(Debug, Clone)]
pub(crate) enum ResponseContent {
    Reply(ScriptedReply),
    Error(ProviderError),
    Json { status: u16, body: Value },
    Raw { content_type: String, chunks: Vec<Vec<u8>> },
}

/// An error in a provider's format.
#[derive(Debug, Clone)]
pub(crate) struct ProviderError {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) code: Option<String>,
    pub(crate) message: String,
}

/// The end of a response.
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
    /// Adds a text, usually the answer.
    #[must_use]
    pub fn reply(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.push_part(ReplyPart::Text(ScriptedText::Whole(text)))
    }

    /// Adds a text before calls; the same as [`Self::reply`].
    #[must_use]
    pub fn say(self, text: impl Into<String>) -> Self {
        self.reply(text)
    }

    /// Adds a text in exactly these deltas.
    #[must_use]
    pub fn deltas<T: Into<String>>(self, deltas: impl IntoIterator<Item = T>) -> Self {
        let deltas = deltas.into_iter().map(Into::into).collect();
        self.push_part(ReplyPart::Text(ScriptedText::Deltas(deltas)))
    }

    /// Adds reasoning: `reasoning_content` for OpenAI, a signed thinking block for Anthropic, `thinking` for
    /// Ollama.
    #[must_use]
    pub fn reason(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.push_part(ReplyPart::Reasoning(text))
    }

    /// Adds a call of a tool. The request must offer the tool.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a script writes it in place")]
    pub fn call(self, tool: impl Into<String>, arguments: Value) -> Self {
        self.call_text(tool, arguments.to_string())
    }

    /// Adds calls of these tools in order. The request must offer each tool.
    #[must_use]
    pub fn calls<T: Into<String>>(self, calls: impl IntoIterator<Item = (T, Value)>) -> Self {
        calls.into_iter().fold(self, |response, (tool, arguments)| response.call(tool, arguments))
    }

    /// Adds a call with unchanged arguments, for sending invalid JSON. Ollama sends invalid JSON as a JSON
    /// string.
    #[must_use]
    pub fn call_text(self, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.push_part(ReplyPart::Call(ScriptedCall {
            tool: tool.into(),
            arguments: arguments.into(),
            must_be_offered: true,
        }))
    }

    /// Adds a call of a tool that the request need not offer.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a script writes it in place")]
    pub fn call_unknown(self, tool: impl Into<String>, arguments: Value) -> Self {
        self.push_part(ReplyPart::Call(ScriptedCall {
            tool: tool.into(),
            arguments: arguments.to_string(),
            must_be_offered: false,
        }))
    }

    /// Cuts texts and arguments into deltas of this many characters, minimum 1, default 12.
    #[must_use]
    pub fn delta_chars(self, characters: usize) -> Self {
        self.edit_reply(|reply| reply.delta_chars = characters.max(1))
    }

    /// Sets the reported tokens, by default 100, 20, 0. `input` includes `cached`. OpenAI reports usage only
    /// if the request sets `stream_options.include_usage`.
    #[must_use]
    pub fn usage(self, input: u64, output: u64, cached: u64) -> Self {
        let usage = ReportedUsage { input, output, cached };
        self.edit_reply(|reply| reply.usage = Some(usage))
    }

    /// Omits the token counts from the reply.
    #[must_use]
    pub fn no_usage(self) -> Self {
        self.edit_reply(|reply| reply.usage = None)
    }

    /// Sets the finish reason in OpenAI's words (`stop`, `length`, `tool_calls`, `content_filter`),
    /// translated for Anthropic. Other reasons are sent unchanged.
    #[must_use]
    pub fn finish(self, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        self.edit_reply(|reply| reply.finish = ScriptedFinish::Reason(reason))
    }

    /// Omits the finish reason from the reply.
    #[must_use]
    pub fn no_finish(self) -> Self {
        self.edit_reply(|reply| reply.finish = ScriptedFinish::Missing)
    }

    /// Ends the body properly but without `[DONE]` (OpenAI), `message_stop` (Anthropic) or the `done` line
    /// with its reason and usage (Ollama).
    #[must_use]
    pub fn no_done(self) -> Self {
        self.edit_reply(|reply| reply.done = false)
    }

    /// Responds with an error status and the provider's usual error body.
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

    /// Responds with an error status and an error in the provider's format.
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

    /// Responds with a status and exactly this JSON.
    #[must_use]
    pub fn status_body(mut self, status: u16, body: Value) -> Self {
        self.content = ResponseContent::Json { status, body };
        self
    }

    /// Adds a header, even if the same name exists.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a `Retry-After` header in seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header("retry-after", seconds.to_string())
    }

    /// Responds with status 200 and exactly these bytes, one HTTP chunk each; empty chunks are skipped. For
    /// reproducing recorded streams of providers.
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

    /// Closes the socket after this many chunks, without ending the body.
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

    /// Sends this many chunks, then nothing more, and keeps the connection open.
    #[must_use]
    pub fn hang_after(mut self, chunks: usize) -> Self {
        self.ending = ResponseEnding::HangAfter(chunks);
        self
    }

    /// Reports an error inside the stream after this many chunks, such as `overloaded_error`, and ends the
    /// stream.
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

    /// Waits at a gate before a chunk, after the headers. A number one beyond the last chunk holds the end of
    /// the body.
    #[must_use]
    pub fn with_gate(mut self, chunk: usize, gate: ChunkGate) -> Self {
        self.gates.push((chunk, gate));
        self
    }

    /// Waits before every chunk but the first. For demos; tests use a gate.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Spreads the reply evenly over this time. For benchmarks.
    #[must_use]
    pub fn spread_over(mut self, whole: Duration) -> Self {
        self.total_time = Some(whole);
        self
    }

    /// Disables the separate flush of each chunk: the socket decides about packets, as for a fast provider.
    /// For benchmarks.
    #[must_use]
    pub fn at_once(mut self) -> Self {
        self.at_once = true;
        self
    }

    /// Replaces each [`STAMP`] by the sending time of its chunk, in Unix microseconds.
    #[must_use]
    pub fn with_stamps(mut self) -> Self {
        self.has_stamps = true;
        self
    }

    /// Returns the called tools that the request must offer.
    pub(crate) fn offered_calls(&self) -> impl Iterator<Item = &str> {
        let parts = match &self.content {
            ResponseContent::Reply(reply) => reply.parts.as_slice(),
            ResponseContent::Error(_)
            | ResponseContent::Json { .. }
            | ResponseContent::Raw { .. } => &[],
        };
        parts.iter().filter_map(|part| match part {
            ReplyPart::Call(call) if call.must_be_offered => Some(call.tool.as_str()),
            _ => None,
        })
    }

    /// Returns the bytes of all texts and arguments.
    pub(crate) fn text_bytes(&self) -> usize {
        match &self.content {
            ResponseContent::Reply(reply) => reply.parts.iter().map(ReplyPart::byte_len).sum(),
            ResponseContent::Error(_)
            | ResponseContent::Json { .. }
            | ResponseContent::Raw { .. } => 0,
        }
    }

    fn push_part(self, part: ReplyPart) -> Self {
        self.edit_reply(|reply| reply.parts.push(part))
    }

    fn edit_reply(mut self, change: impl FnOnce(&mut ScriptedReply)) -> Self {
        if let ResponseContent::Reply(reply) = &mut self.content {
            change(reply);
        } else {
            let mut reply = ScriptedReply::default();
            change(&mut reply);
            self.content = ResponseContent::Reply(reply);
        }
        self
    }
}
