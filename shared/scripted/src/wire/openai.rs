//! OpenAI's chat completions.

use serde_json::{Value, json};

use super::{Asked, function_tools, items, string, text};
use crate::request::{Call, CallResult, Message, Request, Role};
use crate::response::{Part, Said, ToolCall, Usage};

pub(super) fn read(body: &Value) -> Result<Asked, String> {
    let mut system = Vec::new();
    let mut messages = Vec::new();
    for message in items(body, "messages") {
        let content = text(message.get("content"));
        match string(message, "/role").as_str() {
            "system" | "developer" => system.push(content),
            "user" => messages.push(Message { text: content, ..Message::default() }),
            "assistant" => messages.push(Message {
                role: Role::Assistant,
                text: content,
                reasoning: string(message, "/reasoning_content"),
                calls: items(message, "tool_calls").iter().map(call).collect(),
                results: Vec::new(),
            }),
            "tool" => messages.push(Message {
                role: Role::Tool,
                results: vec![CallResult {
                    id: string(message, "/tool_call_id"),
                    tool: String::new(),
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
        tool_choice: body.get("tool_choice").map(|choice| {
            let word = choice.as_str().map(str::to_owned);
            word.unwrap_or_else(|| string(choice, "/function/name"))
        }),
        temperature: body.get("temperature").and_then(Value::as_f64),
    })
}

fn call(call: &Value) -> Call {
    let arguments = string(call, "/function/arguments");
    Call {
        id: string(call, "/id"),
        tool: string(call, "/function/name"),
        arguments: serde_json::from_str(&arguments).unwrap_or(Value::String(arguments)),
    }
}

pub(super) fn chunks(said: &Said, to: &Request) -> Vec<Vec<u8>> {
    let stream = Stream {
        to,
        reports_usage: to.json().pointer("/stream_options/include_usage")
            == Some(&Value::Bool(true)),
    };
    let mut chunks = vec![stream.delta(&json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for part in &said.parts {
        match part {
            Part::Reasoning(text) => chunks.extend(
                said.split(text)
                    .iter()
                    .map(|text| stream.delta(&json!({"reasoning_content": text}))),
            ),
            Part::Text(text) => chunks.extend(
                said.deltas_of(text).iter().map(|text| stream.delta(&json!({"content": text}))),
            ),
            Part::Call(call) => {
                chunks.extend(stream.call(call, calls, said));
                calls += 1;
            }
        }
    }
    chunks.push(stream.closing(said).into_bytes());
    chunks
}

struct Stream<'a> {
    to: &'a Request,
    reports_usage: bool,
}

impl Stream<'_> {
    fn delta(&self, delta: &Value) -> Vec<u8> {
        self.choice(delta, None).into_bytes()
    }

    fn call(&self, call: &ToolCall, index: usize, said: &Said) -> Vec<Vec<u8>> {
        let id = format!("call_{}_{index}", self.to.number());
        let function = json!({"name": call.tool, "arguments": ""});
        let start = json!({"index": index, "id": id, "type": "function", "function": function});
        let arguments = said
            .split(&call.arguments)
            .into_iter()
            .map(|arguments| json!({"index": index, "function": {"arguments": arguments}}));
        std::iter::once(start)
            .chain(arguments)
            .map(|call| self.delta(&json!({"tool_calls": [call]})))
            .collect()
    }

    fn closing(&self, said: &Said) -> String {
        let mut closing = String::new();
        if let Some(reason) = said.finish_reason() {
            closing += &self.choice(&json!({}), Some(reason));
        }
        if let (Some(usage), true) = (said.usage, self.reports_usage) {
            let Usage { input, output, cached } = usage;
            let usage = json!({
                "prompt_tokens": input,
                "completion_tokens": output,
                "total_tokens": input + output,
                "prompt_tokens_details": {"cached_tokens": cached},
            });
            closing += &self.event("[]", &usage);
        }
        if said.done {
            closing += "data: [DONE]\n\n";
        }
        closing
    }

    fn choice(&self, delta: &Value, finish_reason: Option<&str>) -> String {
        let reason = json!(finish_reason);
        let choice =
            format!(r#"{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason}}}"#);
        self.event(&format!("[{choice}]"), &Value::Null)
    }

    /// Written as text: benchmarks time what comes of it, not how it is made.
    fn event(&self, choices: &str, usage: &Value) -> String {
        let (number, model) = (self.to.number(), json!(self.to.model()));
        let usage = if self.reports_usage { format!(r#","usage":{usage}"#) } else { String::new() };
        format!(
            concat!(
                r#"data: {{"id":"chatcmpl-{}","object":"chat.completion.chunk","created":0,"#,
                r#""model":{},"choices":{}{}}}"#,
                "\n\n"
            ),
            number, model, choices, usage
        )
    }
}
