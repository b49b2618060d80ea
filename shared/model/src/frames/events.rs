//! The streams that genai reads for us: Gemini, Bedrock, OpenAI's Responses, Cohere.

use djinn_core::input::Finish;
use genai::chat::{
    ChatStreamEvent, ContentPart, MessageContent, StopReason, StreamEnd, ToolCall, Usage,
};
use serde_json::Value;

use crate::draft::{Block, Draft, Listener, json_text};

/// Reads genai's events.
#[derive(Debug, Default)]
pub(crate) struct Events;

impl Events {
    pub(crate) fn read(&mut self, event: ChatStreamEvent, draft: &mut Draft, out: Listener<'_>) {
        match event {
            ChatStreamEvent::Chunk(chunk) => draft.say(&chunk.content, out),
            ChatStreamEvent::ReasoningChunk(chunk) => draft.think(&chunk.content, out),
            ChatStreamEvent::ToolCallChunk(chunk) => call(&chunk.tool_call, draft),
            ChatStreamEvent::End(end) => read_end(end, draft),
            ChatStreamEvent::Start
            | ChatStreamEvent::ThoughtSignatureChunk(_)
            | ChatStreamEvent::Heartbeat => {}
        }
    }
}

/// A call as far as it is known. Arguments as a text are those since their beginning, under one
/// id; as JSON they are whole, and genai's ids for them (Gemini) begin anew with every frame.
fn call(call: &ToolCall, draft: &mut Draft) {
    let is_text = call.fn_arguments.is_string();
    let at = draft.calls.position(&call.call_id).filter(|_| is_text);
    let at = put(at, call, draft);
    sign(at, call, draft);
}

fn put(at: Option<usize>, call: &ToolCall, draft: &mut Draft) -> usize {
    let text = json_text(&call.fn_arguments);
    draft.calls.put(at, &call.call_id, &call.fn_name, &text)
}

/// Keeps the signature of a call's own; at the end genai also shows there what belongs to blocks.
fn sign(at: usize, call: &ToolCall, draft: &mut Draft) {
    if let Some(signature) = call.thought_signatures.iter().flatten().next() {
        let signatures = &mut draft.kept.calls;
        signatures.resize(signatures.len().max(at + 1), None);
        if let Some(slot) = signatures.get_mut(at) {
            *slot = Some(signature.clone());
        }
    }
}

fn read_end(end: StreamEnd, draft: &mut Draft) {
    if let Some(usage) = &end.captured_usage {
        count(usage, draft);
    }
    if let Some(content) = end.captured_content {
        read_content(content, draft);
    }
    // genai also makes an end of a stream that was cut; only a reason makes it one.
    draft.finish = end.captured_stop_reason.map(|reason| match reason {
        StopReason::MaxTokens(_) => Finish::Length,
        StopReason::ContentFilter(_) => Finish::Filtered,
        StopReason::Other(reason) if is_filter(&reason) => Finish::Filtered,
        StopReason::Completed(_)
        | StopReason::ToolCall(_)
        | StopReason::StopSequence(_)
        | StopReason::Other(_) => Finish::Done,
    });
}

fn is_filter(reason: &str) -> bool {
    matches!(reason, "guardrail_intervened" | "content_filtered")
}

/// Takes the calls that no piece announced, or none completely, and what must go back of the
/// thoughts.
fn read_content(content: MessageContent, draft: &mut Draft) {
    let mut calls = Vec::new();
    let mut signature: Option<String> = None;
    for part in content {
        match part {
            ContentPart::ToolCall(call) => calls.push(call),
            ContentPart::ThoughtSignature(next) => {
                draft.kept.blocks.extend(signature.take().map(Block::Mark));
                signature = Some(next);
            }
            ContentPart::ReasoningContent(text) => {
                if let Some(signature) = signature.take() {
                    let bytes = text.len();
                    draft.kept.blocks.push(Block::Signed { bytes, signature });
                }
            }
            ContentPart::Custom(custom) => draft.kept.blocks.push(Block::Hidden(custom.data)),
            ContentPart::Text(_) | ContentPart::Binary(_) | ContentPart::ToolResponse(_) => {}
        }
    }
    draft.kept.blocks.extend(signature.map(Block::Mark));
    let in_order = calls.len() == draft.calls.len();
    for (place, call) in calls.iter().enumerate() {
        let at = match in_order {
            true => Some(place),
            false => draft.calls.position(&call.call_id),
        };
        // Arguments that genai could not read come as `{}`, and are not believed.
        let is_said = match &call.fn_arguments {
            Value::Object(object) => !object.is_empty(),
            Value::String(text) => !text.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
        };
        if is_said || at.is_none() {
            put(at, call, draft);
        }
    }
}

fn count(usage: &Usage, draft: &mut Draft) {
    let number = |count: Option<i32>| count.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let cached = usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
    draft.counted.add(number(usage.prompt_tokens), number(usage.completion_tokens), number(cached));
}
