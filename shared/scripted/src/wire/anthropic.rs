//! Parsing of Anthropic's Messages API, and encoding of its named events.

use serde_json::{Value, json};

use super::{ParsedRequest, content_text, items_at, string_at};
use crate::request::{
    MessageRole, RecordedCall, RecordedImage, RecordedMessage, RecordedRequest, RecordedResult,
    RequestTool,
};
use crate::response::{ReplyPart, ScriptedReply};

pub(super) fn parse_request(body: &Value) -> Result<ParsedRequest, String> {
    let messages = items_at(body, "messages").iter().map(parse_message);
    let tools = items_at(body, "tools").iter().map(|tool| RequestTool {
        name: string_at(tool, "/name"),
        description: string_at(tool, "/description"),
        schema: tool.get("input_schema").cloned().unwrap_or_default(),
    });
    let choice = body.get("tool_choice");
    Ok(ParsedRequest {
        system: content_text(body.get("system")),
        messages: messages.collect::<Result<_, _>>()?,
        tools: tools.collect(),
        tool_choice: choice.map(|choice| match string_at(choice, "/type").as_str() {
            "any" => "required".to_owned(),
            "tool" => string_at(choice, "/name"),
            choice => choice.to_owned(),
        }),
        temperature: body.get("temperature").and_then(Value::as_f64),
    })
}

fn parse_message(message: &Value) -> Result<RecordedMessage, String> {
    let role = match string_at(message, "/role").as_str() {
        "user" => MessageRole::User,
        "assistant" => MessageRole::Assistant,
        role => return Err(format!("it has a message with the role `{role}`")),
    };
    let mut record = RecordedMessage { role, ..RecordedMessage::default() };
    let Some(Value::Array(blocks)) = message.get("content") else {
        record.text = content_text(message.get("content"));
        return Ok(record);
    };
    let mut texts = Vec::new();
    for block in blocks {
        match string_at(block, "/type").as_str() {
            "thinking" => record.reasoning += &string_at(block, "/thinking"),
            "tool_use" => record.calls.push(RecordedCall {
                id: string_at(block, "/id"),
                tool: string_at(block, "/name"),
                arguments: block.get("input").cloned().unwrap_or_default(),
            }),
            "tool_result" => record.results.push(RecordedResult {
                id: string_at(block, "/tool_use_id"),
                tool: String::new(),
                text: content_text(block.get("content")),
            }),
            "image" => record.images.push(RecordedImage {
                media_type: string_at(block, "/source/media_type"),
                content: string_at(block, "/source/data"),
            }),
            "text" => texts.push(string_at(block, "/text")),
            other => texts.push(format!("[{other}]")),
        }
    }
    record.text = texts.join("\n");
    if !record.results.is_empty() && record.text.is_empty() {
        record.role = MessageRole::Tool;
    }
    Ok(record)
}

pub(super) fn encode_chunks(reply: &ScriptedReply, to: &RecordedRequest) -> Vec<Vec<u8>> {
    let mut chunks = vec![opening_events(reply, to)];
    let mut index = 0;
    for part in &reply.parts {
        let block = block_events(part, index, reply, to);
        index += usize::from(!block.is_empty());
        chunks.extend(block);
    }
    chunks.push(closing_events(reply));
    chunks.into_iter().map(String::into_bytes).collect()
}

fn opening_events(reply: &ScriptedReply, to: &RecordedRequest) -> String {
    let mut message = json!({
        "id": format!("msg_{}", to.number()),
        "type": "message",
        "role": "assistant",
        "model": to.model(),
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    });
    if let (Some(message), Some(usage)) = (message.as_object_mut(), reply.usage) {
        let usage = json!({
            "input_tokens": usage.input.saturating_sub(usage.cached),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": 1,
        });
        message.insert("usage".to_owned(), usage);
    }
    let start = json!({"type": "message_start", "message": message});
    encode_event(&start) + &encode_event(&json!({"type": "ping"}))
}

/// Returns the chunks of a content block. Texts start with their first delta, calls in a chunk before; an
/// empty text has no block.
fn block_events(
    part: &ReplyPart,
    index: usize,
    reply: &ScriptedReply,
    to: &RecordedRequest,
) -> Vec<String> {
    let start = |block| {
        encode_event(
            &json!({"type": "content_block_start", "index": index, "content_block": block}),
        )
    };
    let delta = |delta| {
        encode_event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let deltas = |texts: Vec<String>, kind: &str, key: &str| -> Vec<String> {
        let deltas = texts.iter().map(|text| delta(json!({"type": kind, key: text})));
        deltas.collect()
    };
    let mut chunks = match part {
        ReplyPart::Reasoning(text) => deltas(reply.split_text(text), "thinking_delta", "thinking"),
        ReplyPart::Text(text) => deltas(reply.text_deltas(text), "text_delta", "text"),
        ReplyPart::Call(call) => {
            deltas(reply.split_text(&call.arguments), "input_json_delta", "partial_json")
        }
    };
    match part {
        ReplyPart::Reasoning(_) => {
            let signature = format!("signature_{}_{index}", to.number());
            let block = json!({"type": "thinking", "thinking": "", "signature": ""});
            before_first(&mut chunks, &start(block));
            let signature = json!({"type": "signature_delta", "signature": signature});
            after_last(&mut chunks, &delta(signature));
        }
        ReplyPart::Text(_) => {
            before_first(&mut chunks, &start(json!({"type": "text", "text": ""})));
        }
        ReplyPart::Call(call) => {
            let id = format!("toolu_{}_{index}", to.number());
            let block = json!({"type": "tool_use", "id": id, "name": call.tool, "input": {}});
            chunks.insert(0, start(block));
        }
    }
    after_last(&mut chunks, &encode_event(&json!({"type": "content_block_stop", "index": index})));
    chunks
}

fn before_first(chunks: &mut [String], text: &str) {
    if let Some(first) = chunks.first_mut() {
        first.insert_str(0, text);
    }
}

fn after_last(chunks: &mut [String], text: &str) {
    if let Some(last) = chunks.last_mut() {
        last.push_str(text);
    }
}

fn closing_events(reply: &ScriptedReply) -> String {
    let reason = reply.finish_reason().map(|reason| match reason {
        "stop" => "end_turn",
        "length" => "max_tokens",
        "tool_calls" => "tool_use",
        "content_filter" => "refusal",
        other => other,
    });
    let mut delta = json!({
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": null},
    });
    if let (Some(delta), Some(usage)) = (delta.as_object_mut(), reply.usage) {
        let usage = json!({"output_tokens": usage.output});
        delta.insert("usage".to_owned(), usage);
    }
    let mut closing = encode_event(&delta);
    if reply.done {
        closing += &encode_event(&json!({"type": "message_stop"}));
    }
    closing
}

fn encode_event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", string_at(data, "/type"))
}
