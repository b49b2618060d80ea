//! Anthropic's messages.

use serde_json::{Value, json};

use super::{Asked, items, string, text};
use crate::request::{Call, CallResult, Message, Request, Role, Tool};
use crate::response::{Part, Said};

pub(super) fn read(body: &Value) -> Result<Asked, String> {
    let messages = items(body, "messages").iter().map(message);
    let choice = body.get("tool_choice");
    Ok(Asked {
        system: text(body.get("system")),
        messages: messages.collect::<Result<_, _>>()?,
        tools: items(body, "tools").iter().map(tool).collect(),
        tool_choice: choice.map(|choice| match string(choice, "/type").as_str() {
            "any" => "required".to_owned(),
            "tool" => string(choice, "/name"),
            choice => choice.to_owned(),
        }),
        temperature: body.get("temperature").and_then(Value::as_f64),
    })
}

fn message(message: &Value) -> Result<Message, String> {
    let role = match string(message, "/role").as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        role => return Err(format!("it has a message with the role `{role}`")),
    };
    let mut read = Message { role, ..Message::default() };
    let Some(Value::Array(blocks)) = message.get("content") else {
        read.text = text(message.get("content"));
        return Ok(read);
    };
    let mut texts = Vec::new();
    for block in blocks {
        match string(block, "/type").as_str() {
            "thinking" => read.reasoning += &string(block, "/thinking"),
            "tool_use" => read.calls.push(Call {
                id: string(block, "/id"),
                tool: string(block, "/name"),
                arguments: block.get("input").cloned().unwrap_or_default(),
            }),
            "tool_result" => read.results.push(CallResult {
                id: string(block, "/tool_use_id"),
                tool: String::new(),
                text: text(block.get("content")),
            }),
            "text" => texts.push(string(block, "/text")),
            other => texts.push(format!("[{other}]")),
        }
    }
    read.text = texts.join("\n");
    if !read.results.is_empty() && read.text.is_empty() {
        read.role = Role::Tool;
    }
    Ok(read)
}

fn tool(tool: &Value) -> Tool {
    Tool {
        name: string(tool, "/name"),
        description: string(tool, "/description"),
        schema: tool.get("input_schema").cloned().unwrap_or_default(),
    }
}

pub(super) fn chunks(said: &Said, to: &Request) -> Vec<Vec<u8>> {
    let mut chunks = vec![opening(said, to)];
    let mut index = 0;
    for part in &said.parts {
        let block = block(part, index, said, to);
        index += usize::from(!block.is_empty());
        chunks.extend(block);
    }
    chunks.push(closing(said));
    chunks.into_iter().map(String::into_bytes).collect()
}

fn opening(said: &Said, to: &Request) -> String {
    let mut message = json!({
        "id": format!("msg_{}", to.number()),
        "type": "message",
        "role": "assistant",
        "model": to.model(),
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    });
    if let (Some(message), Some(usage)) = (message.as_object_mut(), said.usage) {
        let usage = json!({
            "input_tokens": usage.input.saturating_sub(usage.cached),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": 1,
        });
        message.insert("usage".to_owned(), usage);
    }
    let start = json!({"type": "message_start", "message": message});
    event(&start) + &event(&json!({"type": "ping"}))
}

/// The chunks of a content block. Texts start with their first delta, calls in a chunk before it;
/// an empty text is no block.
fn block(part: &Part, index: usize, said: &Said, to: &Request) -> Vec<String> {
    let start = |block| {
        event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
    };
    let delta =
        |delta| event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
    let deltas = |texts: Vec<String>, kind: &str, key: &str| -> Vec<String> {
        let deltas = texts.iter().map(|text| delta(json!({"type": kind, key: text})));
        deltas.collect()
    };
    let mut chunks = match part {
        Part::Reasoning(text) => deltas(said.split(text), "thinking_delta", "thinking"),
        Part::Text(text) => deltas(said.deltas_of(text), "text_delta", "text"),
        Part::Call(call) => deltas(said.split(&call.arguments), "input_json_delta", "partial_json"),
    };
    match part {
        Part::Reasoning(_) => {
            let signature = format!("signature_{}_{index}", to.number());
            let block = json!({"type": "thinking", "thinking": "", "signature": ""});
            before_first(&mut chunks, &start(block));
            let signature = json!({"type": "signature_delta", "signature": signature});
            after_last(&mut chunks, &delta(signature));
        }
        Part::Text(_) => {
            before_first(&mut chunks, &start(json!({"type": "text", "text": ""})));
        }
        Part::Call(call) => {
            let id = format!("toolu_{}_{index}", to.number());
            let block = json!({"type": "tool_use", "id": id, "name": call.tool, "input": {}});
            chunks.insert(0, start(block));
        }
    }
    after_last(&mut chunks, &event(&json!({"type": "content_block_stop", "index": index})));
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

fn closing(said: &Said) -> String {
    let reason = said.finish_reason().map(|reason| match reason {
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
    if let (Some(delta), Some(usage)) = (delta.as_object_mut(), said.usage) {
        let usage = json!({"output_tokens": usage.output});
        delta.insert("usage".to_owned(), usage);
    }
    let mut closing = event(&delta);
    if said.done {
        closing += &event(&json!({"type": "message_stop"}));
    }
    closing
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", string(data, "/type"))
}
