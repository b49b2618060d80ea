//! Streams read by genai: Gemini, Bedrock, OpenAI's Responses, Cohere.

use djinn_core::input::FinishReason;
use genai::chat::{ChatStreamEvent, ContentPart, MessageContent, StopReason, StreamEnd, ToolCall};
use serde_json::Value;

use crate::draft::{DeltaSink, Draft, ReasoningBlock, to_json_text};

/// The reader of genai's events into a draft, without state of its own.
#[derive(Debug, Default)]
pub(crate) struct GenaiEventReader;

impl GenaiEventReader {
    pub(crate) fn read_event(
        &mut self,
        event: ChatStreamEvent,
        draft: &mut Draft,
        out: DeltaSink<'_>,
    ) {
        match event {
            ChatStreamEvent::Chunk(chunk) => draft.append_text(&chunk.content, out),
            ChatStreamEvent::ReasoningChunk(chunk) => draft.append_reasoning(&chunk.content, out),
            ChatStreamEvent::ToolCallChunk(chunk) => read_call(&chunk.tool_call, draft),
            ChatStreamEvent::End(end) => read_end(end, draft),
            ChatStreamEvent::Start
            | ChatStreamEvent::ThoughtSignatureChunk(_)
            | ChatStreamEvent::Heartbeat => {}
        }
    }
}

/// Reads a partial call. Text arguments are cumulative under one id. JSON arguments are complete, and genai
/// restarts their ids with every frame (Gemini).
fn read_call(call: &ToolCall, draft: &mut Draft) {
    let is_text = call.fn_arguments.is_string();
    let at = draft.calls.position_of(&call.call_id).filter(|_| is_text);
    let at = put_call(at, call, draft);
    // The first signature is the call's own; in the final content genai also adds the signatures of blocks.
    if let Some(signature) = call.thought_signatures.iter().flatten().next() {
        let signatures = &mut draft.reasoning_state.calls;
        signatures.resize(signatures.len().max(at + 1), None);
        if let Some(slot) = signatures.get_mut(at) {
            *slot = Some(signature.clone());
        }
    }
}

fn put_call(at: Option<usize>, call: &ToolCall, draft: &mut Draft) -> usize {
    let text = to_json_text(&call.fn_arguments);
    draft.calls.set_call(at, &call.call_id, &call.fn_name, &text)
}

fn read_end(end: StreamEnd, draft: &mut Draft) {
    if let Some(usage) = &end.captured_usage {
        let number = |count: Option<i32>| count.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
        let cached_tokens =
            usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
        draft.token_counts.raise_counts(
            number(usage.prompt_tokens),
            number(usage.completion_tokens),
            number(cached_tokens),
        );
    }
    if let Some(content) = end.captured_content {
        read_content(content, draft);
    }
    // genai reports an end for interrupted streams too; only a finish reason makes the reply complete.
    draft.finish = end.captured_stop_reason.map(|reason| match reason {
        StopReason::MaxTokens(_) => FinishReason::Length,
        StopReason::ContentFilter(_) => FinishReason::Filtered,
        StopReason::Other(reason) => match reason.as_str() {
            "guardrail_intervened" | "content_filtered" => FinishReason::Filtered,
            _ => FinishReason::Done,
        },
        StopReason::Completed(_) | StopReason::ToolCall(_) | StopReason::StopSequence(_) => {
            FinishReason::Done
        }
    });
}

/// Takes calls without pieces or with incomplete pieces, and the thoughts to send back.
fn read_content(content: MessageContent, draft: &mut Draft) {
    let mut calls = Vec::new();
    let mut signature: Option<String> = None;
    for part in content {
        match part {
            ContentPart::ToolCall(call) => calls.push(call),
            ContentPart::ThoughtSignature(next) => {
                draft.reasoning_state.blocks.extend(signature.take().map(ReasoningBlock::Detached));
                signature = Some(next);
            }
            ContentPart::ReasoningContent(text) => {
                if let Some(signature) = signature.take() {
                    let bytes = text.len();
                    draft.reasoning_state.blocks.push(ReasoningBlock::Signed { bytes, signature });
                }
            }
            ContentPart::Custom(custom) => {
                draft.reasoning_state.blocks.push(ReasoningBlock::Opaque(custom.data));
            }
            ContentPart::Text(_) | ContentPart::Binary(_) | ContentPart::ToolResponse(_) => {}
        }
    }
    draft.reasoning_state.blocks.extend(signature.map(ReasoningBlock::Detached));
    let in_order = calls.len() == draft.calls.len();
    for (place, call) in calls.iter().enumerate() {
        let at = if in_order { Some(place) } else { draft.calls.position_of(&call.call_id) };
        // genai replaces unreadable arguments by `{}`, so these are ignored.
        let is_said = match &call.fn_arguments {
            Value::Object(object) => !object.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => false,
        };
        if is_said || at.is_none() {
            put_call(at, call, draft);
        }
    }
}
