//! Tools whose definitions a provider rejects: the call is made without them.

use djinn_core::effect::ToolChoice;
use djinn_runtime::port::model::{ModelErrorKind, ModelRequest};
use serde_json::{Value, json};

use crate::calls::reply_of;
use crate::server::{Received, Script, Server};
use crate::world::{ask, model, models, request, tool};

/// A provider's rejection of the tool at a position.
fn rejection(provider: &str, position: usize, name: &str) -> Script {
    let message = match provider {
        "anthropic" => format!(
            "tools.{position}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        ),
        "gemini" => format!(
            "* GenerateContentRequest.tools[0].function_declarations[{position}].parameters.properties[data].items: missing field."
        ),
        _ => format!(
            "Invalid schema for function '{name}': In context=(), array schema missing items."
        ),
    };
    let error =
        json!({"error": {"message": message, "type": "invalid_request_error", "code": 400}});
    Script::status(400, &error.to_string())
}

/// The names of the tools of a request, as they were sent.
fn tool_names(provider: &str, received: &Received) -> Vec<String> {
    let tools = match provider {
        "gemini" => &received.body["tools"][0]["functionDeclarations"],
        _ => &received.body["tools"],
    };
    let name = |tool: &Value| {
        let function = tool.get("function").unwrap_or(tool);
        function["name"].as_str().unwrap().to_owned()
    };
    tools.as_array().into_iter().flatten().map(name).collect()
}

fn request_with(call: &str, tools: usize) -> ModelRequest {
    let tools = (0..tools).map(|at| tool(&format!("tool_{at}"))).collect();
    ModelRequest { tools, ..request(call) }
}

#[tokio::test]
async fn call_is_repeated_without_the_rejected_tools() {
    for provider in ["openai", "anthropic", "gemini"] {
        let (server, address) = Server::start().await;
        let rejections = vec![
            rejection(provider, 1, "tool_1"),
            // Of the three tools left.
            rejection(provider, 2, "tool_3"),
            reply_of(provider),
        ];
        server.on_each("first", rejections);
        let models = models(model(provider, address));
        ask(&models, &request_with("first", 4)).await.unwrap();
        let sent: Vec<_> = server
            .received_all("first")
            .iter()
            .map(|received| tool_names(provider, received))
            .collect();
        assert_eq!(sent.len(), 3, "{provider}");
        assert_eq!(sent[1], ["tool_0", "tool_2", "tool_3"], "{provider}");
        assert_eq!(sent[2], ["tool_0", "tool_2"], "{provider}");

        server.on("second", reply_of(provider));
        let mut changed = request_with("second", 4);
        changed.tools[3].schema = json!({"type": "object", "properties": {}});
        ask(&models, &changed).await.unwrap();
        let sent = server.received_all("second");
        assert_eq!(sent.len(), 1, "{provider}");
        // The new definition of the last tool may be accepted.
        assert_eq!(tool_names(provider, &sent[0]), ["tool_0", "tool_2", "tool_3"], "{provider}");
    }
}

#[tokio::test]
async fn tool_with_a_name_that_providers_reject_is_found_by_its_sent_name() {
    let (server, address) = Server::start().await;
    server.on("first", reply_of("openai"));
    let models = models(model("openai", address));
    ask(&models, &request("first")).await.unwrap();
    let sent = tool_names("openai", &server.received("first"));
    assert!(sent[3].starts_with("mcp_fetch"), "{sent:?}");
    server.on_each("second", vec![rejection("openai", 3, &sent[3]), reply_of("openai")]);
    ask(&models, &request("second")).await.unwrap();
    assert_eq!(tool_names("openai", &server.received("second")), sent[..3]);
}

#[tokio::test]
async fn ninth_rejection_is_the_error_of_the_call() {
    let (server, address) = Server::start().await;
    server.on("run", rejection("anthropic", 0, ""));
    let models = models(model("anthropic", address));
    let error = ask(&models, &request_with("run", 12)).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert!(error.detail.contains("input_schema"), "{error}");
    assert_eq!(server.received_all("run").len(), 9);
    // No call succeeded without the tools, so each is offered again.
    server.on("next", reply_of("anthropic"));
    ask(&models, &request_with("next", 12)).await.unwrap();
    assert_eq!(tool_names("anthropic", &server.received("next")).len(), 12);
}

#[tokio::test]
async fn tool_that_the_model_must_call_is_never_left_out() {
    for choice in [ToolChoice::Named("tool_0".to_owned()), ToolChoice::Required] {
        let (server, address) = Server::start().await;
        server.on("run", rejection("openai", 0, "tool_0"));
        let request = ModelRequest { tool_choice: choice, ..request_with("run", 1) };
        let error = ask(&models(model("openai", address)), &request).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Refused);
        assert_eq!(server.received_all("run").len(), 1);
    }
}
