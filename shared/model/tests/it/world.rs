//! Models that ask a test's server, and requests to ask them with.

use std::net::SocketAddr;

use djinn_core::effect::ToolChoice;
use djinn_core::input::Reply;
use djinn_core::language::Language;
use djinn_core::settings::{ModelChoice, Role};
use djinn_core::tool::{EffectClass, ToolPolicy, ToolSpec};
use djinn_model::{FunctionCallType, ModelKey, ModelSettings, Models, Provider, Settings};
use djinn_runtime::port::model::{Message, Model as _, ModelError, ModelRequest, TextKind};
use djinn_runtime::port::secret::{NoSecrets, Secret};
use serde_json::json;

/// The tools that tests offer.
pub(crate) const TOOLS: &[&str] = &["web_fetch", "file_tool", "now", "mcp.fetch"];

pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

pub(crate) fn model(provider: &str, address: SocketAddr) -> ModelSettings {
    let provider = Provider::parse(provider).unwrap();
    ModelSettings {
        base_url: Some(format!("http://{address}/v1/")),
        key: ModelKey::Value(Secret::new(KEY)),
        ..ModelSettings::new(provider, "test-model")
    }
}

pub(crate) fn models(settings: ModelSettings) -> Models<NoSecrets> {
    Models::new(Settings::single("main", settings), NoSecrets)
}

pub(crate) fn struct_parse(settings: ModelSettings) -> ModelSettings {
    ModelSettings { function_call_type: FunctionCallType::StructParse, ..settings }
}

pub(crate) fn request(call: &str) -> ModelRequest {
    ModelRequest {
        role: Role::React,
        choice: ModelChoice::Primary,
        call: call.to_owned(),
        language: Language::En,
        system: "You are Djinn, and the secret word is xylophone-marmalade-42.".to_owned(),
        messages: vec![Message::User("What does it cost?".to_owned())],
        tools: TOOLS.iter().map(|name| tool(name)).collect(),
        tool_choice: ToolChoice::Auto,
        external_texts: vec!["What does it cost?".to_owned()],
    }
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        schema: json!({"type": "object", "properties": {"url": {"type": "string"}}}),
        effect: EffectClass::Read,
        policy: ToolPolicy::default(),
        timeout_ms: 60_000,
        visible: true,
    }
}

/// Makes a call and checks that the deltas are the reply's texts.
pub(crate) async fn ask(
    models: &Models<NoSecrets>,
    request: &ModelRequest,
) -> Result<Reply, ModelError> {
    let (mut text, mut reasoning) = (String::new(), String::new());
    let mut empty = false;
    let outcome = models
        .call(request, &mut |delta| {
            empty |= delta.text.is_empty();
            match delta.kind {
                TextKind::Text => text.push_str(delta.text),
                TextKind::Reasoning => reasoning.push_str(delta.text),
            }
        })
        .await;
    assert!(!empty, "an empty delta");
    if let Ok(reply) = &outcome {
        assert_eq!(reply.text, text, "the text is what was told");
        let thoughts = reply.reasoning.as_ref().map(|reasoning| reasoning.text.as_str());
        assert_eq!(thoughts.unwrap_or_default(), reasoning);
    }
    outcome
}
