//! Parsing of Ollama's own chat API, and encoding of its JSON lines.

use serde_json::{Value, json};

use super::{ParsedRequest, content_text, function_tools, items_at, string_at};
use crate::request::{
    MessageRole, RecordedCall, RecordedImage, RecordedMessage, RecordedRequest, RecordedResult,
};
use crate::response::{ReplyPart, ScriptedReply};

pub(super) fn parse_request(body: &Value) -> Result<ParsedRequest, String> {
    let mut system = Vec::new();
    let mut messages = Vec::new();
    let mut calls = 0;
    let mut results = 0;
    for message in items_at(body, "messages") {
        let content = content_text(message.get("content"));
        match string_at(message, "/role").as_str() {
            "system" => system.push(content),
            "user" => {
                let images = items_at(message, "images").iter().filter_map(Value::as_str);
                let image = |content: &str| RecordedImage {
                    media_type: String::new(),
                    content: content.to_owned(),
                };
                messages.push(RecordedMessage {
                    text: content,
                    images: images.map(image).collect(),
                    ..RecordedMessage::default()
                });
            }
            "assistant" => messages.push(RecordedMessage {
                role: MessageRole::Assistant,
                text: content,
                reasoning: string_at(message, "/thinking"),
                calls: items_at(message, "tool_calls")
                    .iter()
                    .map(|call| RecordedCall {
                        id: next_id(&mut calls),
                        tool: string_at(call, "/function/name"),
                        arguments: call.pointer("/function/arguments").cloned().unwrap_or_default(),
                    })
                    .collect(),
                ..RecordedMessage::default()
            }),
            "tool" => messages.push(RecordedMessage {
                role: MessageRole::Tool,
                results: vec![RecordedResult {
                    id: next_id(&mut results),
                    tool: string_at(message, "/tool_name"),
                    text: content,
                }],
                ..RecordedMessage::default()
            }),
            role => return Err(format!("it has a message with the role `{role}`")),
        }
    }
    Ok(ParsedRequest {
        system: system.join("\n\n"),
        messages,
        tools: function_tools(body),
        tool_choice: None,
        temperature: body.pointer("/options/temperature").and_then(Value::as_f64),
    })
}

/// Counts an id: calls and results are paired by order.
fn next_id(count: &mut usize) -> String {
    *count += 1;
    format!("#{count}")
}

pub(super) fn encode_chunks(reply: &ScriptedReply, to: &RecordedRequest) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    for part in &reply.parts {
        match part {
            ReplyPart::Reasoning(text) => lines.extend(
                reply.split_text(text).iter().map(|text| json!({"content": "", "thinking": text})),
            ),
            ReplyPart::Text(text) => {
                lines.extend(reply.text_deltas(text).iter().map(|text| json!({"content": text})));
            }
            ReplyPart::Call(call) => {
                let arguments: Value = serde_json::from_str(&call.arguments)
                    .unwrap_or_else(|_| Value::from(call.arguments.as_str()));
                let function = json!({"name": call.tool, "arguments": arguments});
                lines.push(json!({"content": "", "tool_calls": [{"function": function}]}));
            }
        }
    }
    let lines = lines.iter().map(|message| encode_line(message, to));
    let done = reply.done.then(|| done_line(reply, to));
    lines.chain(done).map(|line| format!("{line}\n").into_bytes()).collect()
}

fn encode_line(message: &Value, to: &RecordedRequest) -> Value {
    let mut line = json!({
        "model": to.model(),
        "created_at": "1970-01-01T00:00:00Z",
        "message": {"role": "assistant"},
        "done": false,
    });
    let fields = message.as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(message)) = line.get_mut("message") {
        message.extend(fields);
    }
    line
}

fn done_line(reply: &ScriptedReply, to: &RecordedRequest) -> Value {
    let mut done = encode_line(&json!({"content": ""}), to);
    if let Some(fields) = done.as_object_mut() {
        fields.insert("done".to_owned(), Value::Bool(true));
        // Ollama finishes with `stop` even after calls.
        if let Some(reason) = reply.finish_reason() {
            let reason = if reason == "tool_calls" { "stop" } else { reason };
            fields.insert("done_reason".to_owned(), Value::from(reason));
        }
        if let Some(usage) = reply.usage {
            fields.insert("prompt_eval_count".to_owned(), usage.input.into());
            fields.insert("eval_count".to_owned(), usage.output.into());
            if usage.cached > 0 {
                let key = "prompt_eval_cached_count".to_owned();
                fields.insert(key, usage.cached.into());
            }
        }
    }
    done
}
