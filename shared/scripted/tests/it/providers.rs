//! Djinn's client library reads all three protocols.

use djinn_scripted::{ProviderProtocol, ScriptedModel};
use genai::adapter::AdapterKind;
use genai::chat::StopReason;
use serde_json::json;

use crate::agent::{Client, tool};
use genai::chat::{ChatMessage, ChatRequest};

fn request(question: &str) -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::user(question)])
        .with_system("Be brief.")
        .with_tools(vec![tool("look_up")])
}

#[tokio::test]
async fn text_reasoning_calls_usage_and_finish_arrive() {
    let kinds = [AdapterKind::OpenAI, AdapterKind::Anthropic, AdapterKind::Ollama];
    for kind in kinds {
        let server = ScriptedModel::start().await.unwrap();
        server
            .on("How many")
            .reason("They want a number, so I count.")
            .say("I look in two places at once.")
            .calls([
                ("look_up", json!({"where": "here, or nearly"})),
                ("look_up", json!({"where": ["there"]})),
            ])
            .usage(120, 30, 100);
        let reply = Client::new(&server, kind).ask(request("How many?")).await.unwrap();
        assert_eq!(reply.text, "I look in two places at once.", "{kind}");
        assert_eq!(reply.reasoning, "They want a number, so I count.", "{kind}");
        let calls: Vec<_> = reply
            .calls
            .iter()
            .map(|call| (call.fn_name.as_str(), call.fn_arguments.clone()))
            .collect();
        let expected = [
            ("look_up", json!({"where": "here, or nearly"})),
            ("look_up", json!({"where": ["there"]})),
        ];
        assert_eq!(calls, expected, "{kind}");
        assert_ne!(reply.calls[0].call_id, reply.calls[1].call_id);
        let usage = reply.usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(120), Some(30)), "{kind}");
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        assert_eq!(cached, Some(100), "{kind}");
        let recorded = server.last_request().unwrap();
        assert_eq!(recorded.system(), "Be brief.");
        assert_eq!(recorded.tools()[0].name, "look_up");
        server.assert_done();
    }
}

#[tokio::test]
async fn finish_reasons_are_translated() {
    let kinds = [AdapterKind::OpenAI, AdapterKind::Anthropic, AdapterKind::Ollama];
    for kind in kinds {
        let server = ScriptedModel::start().await.unwrap();
        server.on("hello").reply("a").finish("length").then().reply("b");
        let client = Client::new(&server, kind);
        let cut = client.ask(request("hello")).await.unwrap();
        assert!(matches!(cut.stop, Some(StopReason::MaxTokens(_))), "{kind} {:?}", cut.stop);
        let whole = client.ask(request("hello")).await.unwrap();
        assert!(matches!(whole.stop, Some(StopReason::Completed(_))), "{kind} {:?}", whole.stop);
    }
}

#[tokio::test]
async fn the_protocol_is_recorded() {
    let kinds = [
        (AdapterKind::OpenAI, ProviderProtocol::OpenAi),
        (AdapterKind::Anthropic, ProviderProtocol::Anthropic),
        (AdapterKind::Ollama, ProviderProtocol::Ollama),
    ];
    for (kind, protocol) in kinds {
        let server = ScriptedModel::start().await.unwrap();
        server.on("hello").reply("hi");
        Client::new(&server, kind).ask(request("hello")).await.unwrap();
        assert_eq!(server.last_request().unwrap().protocol(), protocol);
    }
}
