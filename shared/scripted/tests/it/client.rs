//! A plain HTTP client for tests.

use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};

/// An OpenAI request with one question and a tool.
pub(crate) fn question(text: &str) -> Value {
    json!({
        "model": "gpt-test",
        "stream": true,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {
            "name": "look_up",
            "description": "Looks something up.",
            "parameters": {"type": "object"},
        }}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": text},
        ],
    })
}

/// The same question to Anthropic.
pub(crate) fn anthropic_question(text: &str) -> Value {
    json!({
        "model": "claude-test",
        "stream": true,
        "max_tokens": 100,
        "system": "Be brief.",
        "tools": [{"name": "look_up", "description": "Looks something up.", "input_schema": {}}],
        "messages": [{"role": "user", "content": text}],
    })
}

pub(crate) async fn post(server: &ScriptedModel, path: &str, body: &Value) -> reqwest::Response {
    let url = format!("{}{path}", server.base_url());
    let client = reqwest::Client::builder().build().unwrap();
    client.post(url).json(body).send().await.unwrap()
}

pub(crate) async fn ask(server: &ScriptedModel, text: &str) -> reqwest::Response {
    post(server, "chat/completions", &question(text)).await
}

/// The next chunk as text; empty at the end.
pub(crate) async fn chunk(response: &mut reqwest::Response) -> String {
    let chunk = response.chunk().await.unwrap().unwrap_or_default();
    String::from_utf8(chunk.to_vec()).unwrap()
}

/// The texts of the content deltas in an OpenAI stream.
pub(crate) fn content(stream: &str) -> Vec<String> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let texts = events.filter_map(|event| {
        let text = event.pointer("/choices/0/delta/content")?.as_str()?;
        Some(text.to_owned())
    });
    texts.filter(|text| !text.is_empty()).collect()
}
