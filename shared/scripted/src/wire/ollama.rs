//! Ollama's own chat.

use serde_json::{Value, json};

use super::{Asked, function_tools, items, string, text};
use crate::request::{Call, CallResult, Message, Request, Role};
use crate::response::{Part, Said};

pub(super) fn read(body: &Value) -> Result<Asked, String> {
    let mut system = Vec::new();
    let mut messages = Vec::new();
    let mut calls = 0;
    let mut results = 0;
    for message in items(body, "messages") {
        let content = text(message.get("content"));
        match string(message, "/role").as_str() {
            "system" => system.push(content),
            "user" => messages.push(Message { text: content, ..Message::default() }),
            "assistant" => messages.push(Message {
                role: Role::Assistant,
                text: content,
                reasoning: string(message, "/thinking"),
                calls: items(message, "tool_calls")
                    .iter()
                    .map(|call| Call {
                        id: next_id(&mut calls),
                        tool: string(call, "/function/name"),
                        arguments: call.pointer("/function/arguments").cloned().unwrap_or_default(),
                    })
                    .collect(),
                results: Vec::new(),
            }),
            "tool" => messages.push(Message {
                role: Role::Tool,
                results: vec![CallResult {
                    id: next_id(&mut results),
                    tool: string(message, "/tool_name"),
                    text: content,
                }],
                ..Message::default()
            }),
            role => return Err(format!("it has a message with the role `{role}`")),
        }
    }
    Ok(Asked {
        system: system.join("\n\n"),
        messages,
        tools: function_tools(body),
        tool_choice: None,
        temperature: body.pointer("/options/temperature").and_then(Value::as_f64),
    })
}

/// Calls have no ids: their order pairs them with results.
fn next_id(count: &mut usize) -> String {
    *count += 1;
    format!("#{count}")
}

pub(super) fn chunks(said: &Said, to: &Request) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    for part in &said.parts {
        match part {
            Part::Reasoning(text) => lines.extend(
                said.split(text).iter().map(|text| json!({"content": "", "thinking": text})),
            ),
            Part::Text(text) => {
                lines.extend(said.deltas_of(text).iter().map(|text| json!({"content": text})));
            }
            Part::Call(call) => {
                let arguments: Value = serde_json::from_str(&call.arguments)
                    .unwrap_or_else(|_| Value::from(call.arguments.as_str()));
                let function = json!({"name": call.tool, "arguments": arguments});
                lines.push(json!({"content": "", "tool_calls": [{"function": function}]}));
            }
        }
    }
    let lines = lines.iter().map(|message| line(message, to));
    let done = said.done.then(|| done(said, to));
    lines.chain(done).map(|line| format!("{line}\n").into_bytes()).collect()
}

fn line(message: &Value, to: &Request) -> Value {
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

fn done(said: &Said, to: &Request) -> Value {
    let mut done = line(&json!({"content": ""}), to);
    if let Some(fields) = done.as_object_mut() {
        fields.insert("done".to_owned(), Value::Bool(true));
        // Ollama finishes with `stop` after calls, too.
        if let Some(reason) = said.finish_reason() {
            let reason = if reason == "tool_calls" { "stop" } else { reason };
            fields.insert("done_reason".to_owned(), Value::from(reason));
        }
        if let Some(usage) = said.usage {
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
