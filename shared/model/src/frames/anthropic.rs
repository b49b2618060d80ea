//! Messages API events. Their `type` is in the data; the event's own name, which gateways forget,
//! is not needed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{finish, member, text};
use crate::draft::{Block, CallPiece, Draft, Listener};
use crate::fault::Fault;

/// The content blocks of one message, by their index.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: BTreeMap<u64, Open>,
}

#[derive(Debug, Clone, Copy)]
enum Open {
    /// The thoughts at this place in what must be sent back.
    Thinking(usize),
    /// A call; `given` if its arguments came with its beginning.
    ToolUse { given: bool },
}

impl Blocks {
    pub(super) fn read(&mut self, event: &Value, draft: &mut Draft, out: Listener<'_>) {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match text(event, "/type") {
            "message_start" => {
                if let Some(usage) = member(event, "/message/usage") {
                    draft.counted.anthropic(usage);
                }
            }
            "content_block_start" => {
                if let Some(block) = member(event, "/content_block") {
                    self.start(index, block, draft, out);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = member(event, "/delta") {
                    self.delta(index, delta, draft, out);
                }
            }
            "message_delta" => {
                if let Some(usage) = member(event, "/usage") {
                    draft.counted.anthropic(usage);
                }
                finish(text(event, "/delta/stop_reason"), draft);
            }
            "message_stop" => draft.ended = true,
            // The whole message at once, from a gateway that does not stream.
            "message" => self.message(event, draft, out),
            "error" => report(member(event, "/error").unwrap_or(event), draft),
            _ => {
                if let Some(error) = member(event, "/error") {
                    report(error, draft);
                }
            }
        }
    }

    fn start(&mut self, index: u64, block: &Value, draft: &mut Draft, out: Listener<'_>) {
        match text(block, "/type") {
            "text" => draft.say(text(block, "/text"), out),
            "thinking" => {
                let place = draft.kept.blocks.len();
                draft.kept.blocks.push(Block::Signed { bytes: 0, signature: String::new() });
                self.open.insert(index, Open::Thinking(place));
                think(place, text(block, "/thinking"), draft, out);
                sign(place, text(block, "/signature"), draft);
            }
            "redacted_thinking" => draft.kept.blocks.push(Block::Hidden(block.clone())),
            "tool_use" => {
                let input = block.get("input").unwrap_or(&Value::Null);
                let given = input.as_object().is_some_and(|input| !input.is_empty());
                self.open.insert(index, Open::ToolUse { given });
                let piece = CallPiece {
                    index: Some(index),
                    id: text(block, "/id"),
                    name: text(block, "/name"),
                    arguments: "",
                };
                draft.calls.add_whole(piece, if given { input } else { &Value::Null });
            }
            _ => {}
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, draft: &mut Draft, out: Listener<'_>) {
        let open = self.open.get(&index).copied();
        match (text(delta, "/type"), open) {
            ("text_delta", _) => draft.say(text(delta, "/text"), out),
            ("thinking_delta", Some(Open::Thinking(place))) => {
                think(place, text(delta, "/thinking"), draft, out);
            }
            ("thinking_delta", _) => draft.think(text(delta, "/thinking"), out),
            ("signature_delta", Some(Open::Thinking(place))) => {
                sign(place, text(delta, "/signature"), draft);
            }
            // Arguments that came with the beginning are whole already.
            ("input_json_delta", Some(Open::ToolUse { given: false })) => {
                draft.calls.add(CallPiece {
                    index: Some(index),
                    arguments: text(delta, "/partial_json"),
                    ..CallPiece::default()
                });
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &Value, draft: &mut Draft, out: Listener<'_>) {
        let blocks = message.get("content").and_then(Value::as_array);
        for (index, block) in (0..).zip(blocks.into_iter().flatten()) {
            self.start(index, block, draft, out);
        }
        if let Some(usage) = member(message, "/usage") {
            draft.counted.anthropic(usage);
        }
        finish(text(message, "/stop_reason"), draft);
    }
}

fn report(error: &Value, draft: &mut Draft) {
    if draft.finish.is_none() {
        draft.fault.get_or_insert(Fault::in_stream(error));
    }
}

fn think(place: usize, piece: &str, draft: &mut Draft, out: Listener<'_>) {
    if let Some(Block::Signed { bytes, .. }) = draft.kept.blocks.get_mut(place) {
        *bytes += piece.len();
    }
    draft.think(piece, out);
}

fn sign(place: usize, piece: &str, draft: &mut Draft) {
    if let Some(Block::Signed { signature, .. }) = draft.kept.blocks.get_mut(place) {
        signature.push_str(piece);
    }
}
