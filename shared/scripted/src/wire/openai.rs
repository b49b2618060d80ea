//! Parsing of OpenAI's Chat Completions, and encoding of server-sent events.

use serde_json::{Value, json};

use super::{ParsedRequest, content_text, function_tools, items_at, string_at};
use crate::request::{
    MessageRole, RecordedCall, RecordedImage, RecordedMessage, RecordedRequest, RecordedResult,
};
use crate::response::{ReplyPart, ReportedUsage, ScriptedCall, ScriptedReply};

pub(super) fn parse_request(body: &Value) -> Result<ParsedRequest, String> {
    let mut system = Vec::new();
    let mut messages = Vec::new();
    for message in items_at(body, "messages") {
        let content = content_text(message.get("content"));
        match string_at(message, "/role").as_str() {
            "system" | "developer" => system.push(content),
            "user" => {
                let images = items_at(message, "content").iter().filter_map(parse_image).collect();
                messages.push(RecordedMessage {
                    text: content,
                    images,
                    ..RecordedMessage::default()
                });
            }
            "assistant" => messages.push(RecordedMessage {
                role: MessageRole::Assistant,
                text: content,
                reasoning: string_at(message, "/reasoning_content"),
                calls: items_at(message, "tool_calls").iter().map(parse_call).collect(),
                ..RecordedMessage::default()
            }),
            "tool" => messages.push(RecordedMessage {
                role: MessageRole::Tool,
                results: vec![RecordedResult {
                    id: string_at(message, "/tool_call_id"),
                    tool: String::new(),
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
        tool_choice: body.get("tool_choice").map(|choice| {
            let word = choice.as_str().map(str::to_owned);
            word.unwrap_or_else(|| string_at(choice, "/function/name"))
        }),
        temperature: body.get("temperature").and_then(Value::as_f64),
    })
}

/// Parses the image of a part with a URL `data:image/png;base64,…`.
fn parse_image(part: &Value) -> Option<RecordedImage> {
    let url = string_at(part, "/image_url/url");
    let (media_type, content) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(RecordedImage { media_type: media_type.to_owned(), content: content.to_owned() })
}

fn parse_call(call: &Value) -> RecordedCall {
    let arguments = string_at(call, "/function/arguments");
    RecordedCall {
        id: string_at(call, "/id"),
        tool: string_at(call, "/function/name"),
        arguments: serde_json::from_str(&arguments).unwrap_or(Value::String(arguments)),
    }
}

pub(super) fn encode_chunks(reply: &ScriptedReply, to: &RecordedRequest) -> Vec<Vec<u8>> {
    let stream = Stream {
        to,
        reports_usage: to.json().pointer("/stream_options/include_usage")
            == Some(&Value::Bool(true)),
    };
    let mut chunks = vec![stream.encode_delta(&json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for part in &reply.parts {
        match part {
            ReplyPart::Reasoning(text) => chunks.extend(
                reply
                    .split_text(text)
                    .iter()
                    .map(|text| stream.encode_delta(&json!({"reasoning_content": text}))),
            ),
            ReplyPart::Text(text) => chunks.extend(
                reply
                    .text_deltas(text)
                    .iter()
                    .map(|text| stream.encode_delta(&json!({"content": text}))),
            ),
            ReplyPart::Call(call) => {
                chunks.extend(stream.encode_call(call, calls, reply));
                calls += 1;
            }
        }
    }
    chunks.push(stream.closing_events(reply).into_bytes());
    chunks
}

struct Stream<'a> {
    to: &'a RecordedRequest,
    reports_usage: bool,
}

impl Stream<'_> {
    fn encode_delta(&self, delta: &Value) -> Vec<u8> {
        self.encode_choice(delta, None).into_bytes()
    }

    fn encode_call(
        &self,
        call: &ScriptedCall,
        index: usize,
        reply: &ScriptedReply,
    ) -> Vec<Vec<u8>> {
        let id = format!("call_{}_{index}", self.to.number());
        let function = json!({"name": call.tool, "arguments": ""});
        let start = json!({"index": index, "id": id, "type": "function", "function": function});
        let arguments = reply
            .split_text(&call.arguments)
            .into_iter()
            .map(|arguments| json!({"index": index, "function": {"arguments": arguments}}));
        std::iter::once(start)
            .chain(arguments)
            .map(|call| self.encode_delta(&json!({"tool_calls": [call]})))
            .collect()
    }

    fn closing_events(&self, reply: &ScriptedReply) -> String {
        let mut closing = String::new();
        if let Some(reason) = reply.finish_reason() {
            closing += &self.encode_choice(&json!({}), Some(reason));
        }
        if let (Some(usage), true) = (reply.usage, self.reports_usage) {
            let ReportedUsage { input, output, cached } = usage;
            let usage = json!({
                "prompt_tokens": input,
                "completion_tokens": output,
                "total_tokens": input + output,
                "prompt_tokens_details": {"cached_tokens": cached},
            });
            closing += &self.encode_event("[]", &usage);
        }
        if reply.done {
            closing += "data: [DONE]\n\n";
        }
        closing
    }

    fn encode_choice(&self, delta: &Value, finish_reason: Option<&str>) -> String {
        let reason = json!(finish_reason);
        let choice =
            format!(r#"{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason}}}"#);
        self.encode_event(&format!("[{choice}]"), &Value::Null)
    }

    /// Formatted as text for speed, since benchmarks measure the client.
    fn encode_event(&self, choices: &str, usage: &Value) -> String {
        let number = self.to.number();
        let model = json!(self.to.model());
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
