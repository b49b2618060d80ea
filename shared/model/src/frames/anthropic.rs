//! Messages API events. The `type` is read from the data; the event's own name is not needed, because
//! gateways omit the name.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{member_at, set_finish, text_at};
use crate::draft::{CallPiece, DeltaSink, Draft, ReasoningBlock};
use crate::fault::ModelFault;

/// The content blocks of a message, by index.
#[derive(Debug, Default)]
pub(super) struct BlockReader {
    open_blocks: BTreeMap<u64, OpenBlock>,
}

#[derive(Debug, Clone, Copy)]
enum OpenBlock {
    /// The index of the thoughts in the data to send back.
    Thinking(usize),
    /// A call; `has_input` is true if the arguments came with the start of the block.
    ToolUse { has_input: bool },
}

impl BlockReader {
    pub(super) fn read_event(&mut self, event: &Value, draft: &mut Draft, out: DeltaSink<'_>) {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match text_at(event, "/type") {
            "message_start" => {
                if let Some(usage) = member_at(event, "/message/usage") {
                    draft.token_counts.read_anthropic(usage);
                }
            }
            "content_block_start" => {
                if let Some(block) = member_at(event, "/content_block") {
                    self.start_block(index, block, draft, out);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = member_at(event, "/delta") {
                    self.apply_delta(index, delta, draft, out);
                }
            }
            "message_delta" => {
                if let Some(usage) = member_at(event, "/usage") {
                    draft.token_counts.read_anthropic(usage);
                }
                set_finish(text_at(event, "/delta/stop_reason"), draft);
            }
            "message_stop" => draft.ended = true,
            // The whole message at once, from a gateway without streaming.
            "message" => self.read_message(event, draft, out),
            "error" => report_error(member_at(event, "/error").unwrap_or(event), draft),
            _ => {
                if let Some(error) = member_at(event, "/error") {
                    report_error(error, draft);
                }
            }
        }
    }

    fn start_block(&mut self, index: u64, block: &Value, draft: &mut Draft, out: DeltaSink<'_>) {
        match text_at(block, "/type") {
            "text" => draft.append_text(text_at(block, "/text"), out),
            "thinking" => {
                let place = draft.reasoning_state.blocks.len();
                draft
                    .reasoning_state
                    .blocks
                    .push(ReasoningBlock::Signed { bytes: 0, signature: String::new() });
                self.open_blocks.insert(index, OpenBlock::Thinking(place));
                append_thought(place, text_at(block, "/thinking"), draft, out);
                append_signature(place, text_at(block, "/signature"), draft);
            }
            "redacted_thinking" => {
                draft.reasoning_state.blocks.push(ReasoningBlock::Opaque(block.clone()));
            }
            "tool_use" => {
                let input = block.get("input").unwrap_or(&Value::Null);
                let has_input = input.as_object().is_some_and(|input| !input.is_empty());
                self.open_blocks.insert(index, OpenBlock::ToolUse { has_input });
                let piece = CallPiece {
                    index: Some(index),
                    id: text_at(block, "/id"),
                    name: text_at(block, "/name"),
                    arguments: "",
                };
                draft.calls.add_complete(piece, if has_input { input } else { &Value::Null });
            }
            _ => {}
        }
    }

    fn apply_delta(&mut self, index: u64, delta: &Value, draft: &mut Draft, out: DeltaSink<'_>) {
        let open = self.open_blocks.get(&index).copied();
        match (text_at(delta, "/type"), open) {
            ("text_delta", _) => draft.append_text(text_at(delta, "/text"), out),
            ("thinking_delta", Some(OpenBlock::Thinking(place))) => {
                append_thought(place, text_at(delta, "/thinking"), draft, out);
            }
            ("thinking_delta", _) => draft.append_reasoning(text_at(delta, "/thinking"), out),
            ("signature_delta", Some(OpenBlock::Thinking(place))) => {
                append_signature(place, text_at(delta, "/signature"), draft);
            }
            // Arguments in the block's start are complete.
            ("input_json_delta", Some(OpenBlock::ToolUse { has_input: false })) => {
                draft.calls.add_piece(CallPiece {
                    index: Some(index),
                    arguments: text_at(delta, "/partial_json"),
                    ..CallPiece::default()
                });
            }
            _ => {}
        }
    }

    fn read_message(&mut self, message: &Value, draft: &mut Draft, out: DeltaSink<'_>) {
        let blocks = message.get("content").and_then(Value::as_array);
        for (index, block) in (0..).zip(blocks.into_iter().flatten()) {
            self.start_block(index, block, draft, out);
        }
        if let Some(usage) = member_at(message, "/usage") {
            draft.token_counts.read_anthropic(usage);
        }
        set_finish(text_at(message, "/stop_reason"), draft);
    }
}

fn report_error(error: &Value, draft: &mut Draft) {
    if draft.finish.is_none() {
        draft.fault.get_or_insert(ModelFault::from_stream(error));
    }
}

fn append_thought(place: usize, piece: &str, draft: &mut Draft, out: DeltaSink<'_>) {
    if let Some(ReasoningBlock::Signed { bytes, .. }) = draft.reasoning_state.blocks.get_mut(place)
    {
        *bytes += piece.len();
    }
    draft.append_reasoning(piece, out);
}

fn append_signature(place: usize, piece: &str, draft: &mut Draft) {
    if let Some(ReasoningBlock::Signed { signature, .. }) =
        draft.reasoning_state.blocks.get_mut(place)
    {
        signature.push_str(piece);
    }
}
