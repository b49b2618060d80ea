//! What is sent, and the failures that come of it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use djinn_core::budget::Usage;
use djinn_core::conversation::Reasoning;
use djinn_core::effect::ToolChoice;
use djinn_core::id::CallId;
use djinn_core::settings::{ModelChoice, Role};
use djinn_model::{ModelKey, ModelSettings, Models, Provider, Settings, Temperature, Thinking};
use djinn_runtime::port::model::{
    Message, Model as _, ModelError, ModelErrorKind, ModelRequest, PastCall, ToolResultMessage,
};
use djinn_runtime::port::secret::{NoSecrets, Secret, SecretError, Secrets};
use serde_json::{Value, json};

use crate::server::{Received, Script, Server};
use crate::world::{KEY, TOOLS, ask, model, models, request, struct_parse, tool};

const CALL: &str = "run_1/t4/1";

/// A reply in the form of a provider's stream.
pub(crate) fn reply_of(provider: &str) -> Script {
    let body = match provider {
        "anthropic" | "minimax" => {
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
        }
        "ollama" => "{\"message\":{\"content\":\"ok\"},\"done\":true}\n",
        "gemini" => {
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"ok\"}]},\"finishReason\":\"STOP\"}]}\n\n"
        }
        "openai_resp" => {
            "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"model\":\"m\",\"output\":[]}}\n\n"
        }
        _ => {
            "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
        }
    };
    Script::ok(vec![body.as_bytes().to_vec()])
}

/// Sends a request to a server in the place of a provider, and returns what arrived there.
async fn sent(
    provider: &str,
    change: impl FnOnce(&mut ModelSettings),
    request: &ModelRequest,
) -> Received {
    let (server, address) = Server::start().await;
    server.on(&request.call, reply_of(provider));
    let mut settings = model(provider, address);
    change(&mut settings);
    ask(&models(settings), request).await.unwrap();
    server.received(&request.call)
}

fn call(id: &str, tool: &str, arguments: &Value) -> PastCall {
    PastCall {
        id: CallId::new(id).unwrap(),
        tool: tool.to_owned(),
        arguments: arguments.as_object().unwrap().clone(),
    }
}

fn result(id: &str, tool: &str, text: &str) -> ToolResultMessage {
    ToolResultMessage { id: CallId::new(id).unwrap(), tool: tool.to_owned(), text: text.to_owned() }
}

/// A conversation of two turns with calls.
fn conversation(signature: Option<&str>) -> ModelRequest {
    let signature = signature.map(ToOwned::to_owned);
    let reasoning = Reasoning { text: "I think.".to_owned(), signature, original: None };
    ModelRequest {
        system: "Be brief.".to_owned(),
        messages: vec![
            Message::User("Look.".to_owned()),
            Message::Assistant {
                text: "I look.".to_owned(),
                reasoning: Some(reasoning),
                calls: vec![
                    call("t3.c1", "web_fetch", &json!({"url": "a"})),
                    call("t3.c2", "mcp.fetch", &json!({})),
                ],
            },
            Message::ToolResults(vec![
                result("t3.c1", "web_fetch", "A"),
                result("t3.c2", "mcp.fetch", "B"),
            ]),
            // A reply without a word, which no provider takes back.
            Message::Assistant { text: " ".to_owned(), reasoning: None, calls: Vec::new() },
            Message::User("Go on.".to_owned()),
        ],
        tools: vec![tool("web_fetch"), tool("mcp.fetch")],
        ..request(CALL)
    }
}

#[tokio::test]
async fn chat_completions_get_the_whole_conversation() {
    let received = sent("openai", |_| {}, &conversation(None)).await;
    assert_eq!(received.path, "/v1/chat/completions");
    assert_eq!(received.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(received.headers["djinn-call"], CALL);
    assert!(received.headers["user-agent"].starts_with("djinn/"));
    assert_eq!(received.headers.get("accept-encoding"), None, "no body is decompressed");
    let schema = json!({"type": "object", "properties": {"url": {"type": "string"}}});
    let mapped = received.body["tools"][1]["function"]["name"].clone();
    assert_eq!(
        received.body,
        json!({
            "model": "test-model",
            "stream": true,
            "stream_options": {"include_usage": true},
            "temperature": 0.0,
            "max_tokens": 16384,
            "tool_choice": "auto",
            "tools": [
                {"type": "function", "function": {"name": "web_fetch", "description": "Does web_fetch.", "parameters": schema, "strict": false}},
                {"type": "function", "function": {"name": mapped, "description": "Does mcp.fetch.", "parameters": schema, "strict": false}},
            ],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Look."},
                {"role": "assistant", "content": "I look.", "tool_calls": [
                    {"type": "function", "id": "c00003001", "function": {"name": "web_fetch", "arguments": "{\"url\":\"a\"}"}},
                    {"type": "function", "id": "c00003002", "function": {"name": mapped, "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "c00003001", "content": "A"},
                {"role": "tool", "tool_call_id": "c00003002", "content": "B"},
                {"role": "user", "content": "Go on."},
            ],
        })
    );
    let mapped = mapped.as_str().unwrap();
    assert!(mapped.starts_with("mcp_fetch_") && mapped.len() <= 64, "{mapped}");
}

#[tokio::test]
async fn a_mapped_name_comes_back_as_ours() {
    let (server, address) = Server::start().await;
    let models = models(model("openai", address));
    server.on("first", reply_of("openai"));
    ask(&models, &request("first")).await.unwrap();
    let tools = &server.received("first").body["tools"];
    let position = TOOLS.iter().position(|name| *name == "mcp.fetch").unwrap();
    let mapped = tools[position]["function"]["name"].as_str().unwrap();
    let body = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"x\",\"function\":{{\"name\":\"{mapped}\",\"arguments\":\"{{}}\"}}}}]}},\"finish_reason\":\"tool_calls\"}}]}}\n\n"
    );
    server.on("second", Script::ok(vec![body.into_bytes()]));
    let reply = ask(&models, &request("second")).await.unwrap();
    assert_eq!(reply.calls[0].tool, "mcp.fetch");
}

#[tokio::test]
async fn anthropic_gets_signed_thoughts_and_all_results_in_one_message() {
    let kept = json!({"model_id": "anthropic/test-model", "blocks": [
        {"signed": {"bytes": 2, "signature": "s1"}},
        {"opaque": {"type": "redacted_thinking", "data": "x"}},
        {"signed": {"bytes": 6, "signature": "s2"}},
    ]});
    let received = sent("anthropic", |_| {}, &conversation(Some(&kept.to_string()))).await;
    assert_eq!(received.path, "/v1/messages");
    assert_eq!(received.headers["x-api-key"], KEY);
    assert_eq!(received.headers["djinn-call"], CALL);
    let body = received.body;
    let mapped = body["tools"][1]["name"].clone();
    assert_eq!(body["system"], "Be brief.");
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "I ", "signature": "s1"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "thinking", "thinking": "think.", "signature": "s2"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c00003001", "name": "web_fetch", "input": {"url": "a"}},
                {"type": "tool_use", "id": "c00003002", "name": mapped, "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c00003001", "content": "A"},
                {"type": "tool_result", "tool_use_id": "c00003002", "content": "B", "cache_control": {"type": "ephemeral"}},
            ]},
            {"role": "user", "content": "Go on."},
        ])
    );
}

#[tokio::test]
async fn thoughts_go_back_to_the_model_that_had_them_and_to_no_other() {
    let echo = json!({"model_id": "deepseek/test-model", "echo": true}).to_string();
    let signed = json!({"model_id": "anthropic/test-model", "blocks": [{"signed": {"bytes": 8, "signature": "s"}}]}).to_string();
    for (provider, signature, is_sent) in [
        ("deepseek", Some(echo.as_str()), true),
        ("openai", Some(echo.as_str()), false),
        ("openai", Some(signed.as_str()), false),
        ("anthropic", Some(echo.as_str()), false),
        ("anthropic", Some("not ours"), false),
        ("anthropic", None, false),
        ("ollama", Some(echo.as_str()), false),
    ] {
        let received = sent(provider, |_| {}, &conversation(signature)).await;
        let body = received.body.to_string();
        assert_eq!(body.contains("I think."), is_sent, "{provider} {signature:?}");
    }
    let received = sent("deepseek", |_| {}, &conversation(Some(&echo))).await;
    assert_eq!(received.body["messages"][2]["reasoning_content"], "I think.");
}

#[tokio::test]
async fn models_of_mistral_get_the_closing_word_with_the_last_result() {
    for name in ["mistral-large-latest", "mistralai/Devstral-Small"] {
        let received =
            sent("openai", |model| model.model = name.to_owned(), &conversation(None)).await;
        let messages = received.body["messages"].as_array().unwrap();
        let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
        assert_eq!(
            (&messages[3]["content"], &messages[4]["content"]),
            (&json!("A"), &json!("B\n\nGo on."))
        );
    }
}

#[tokio::test]
async fn ollama_gets_a_message_for_each_result() {
    let received = sent("ollama", |_| {}, &conversation(None)).await;
    assert_eq!(received.path, "/v1/api/chat");
    let messages = received.body["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool", "user"]);
    assert_eq!(messages[3]["content"], "A");
    assert_eq!(messages[4]["content"], "B");
    assert_eq!(messages[2]["tool_calls"][0]["function"]["arguments"], json!({"url": "a"}));
    assert_eq!(received.body["options"], json!({"temperature": 0.0, "num_predict": 16384}));
    assert_eq!(received.body["think"], Value::Null);
}

/// genai reads an effort from the end of a name, and a namespace from its beginning.
#[tokio::test]
async fn the_models_name_arrives_as_it_is_written() {
    let names =
        ["qwen-max", "o-high", "x-low", "x-none", "x-minimal", "gpt-4.1", "ns::x-max", "a/b:c"];
    for provider in [
        "openai",
        "anthropic",
        "ollama",
        "mistral",
        "deepseek",
        "groq",
        "zai",
        "fireworks",
        "openai_resp",
        "minimax",
    ] {
        for name in names {
            let change = |settings: &mut ModelSettings| settings.model = name.to_owned();
            let received = sent(provider, change, &request(CALL)).await;
            assert_eq!(received.body["model"], name, "{provider}");
            for member in ["reasoning_effort", "output_config", "reasoning", "think"] {
                assert_eq!(received.body[member], Value::Null, "{provider} {name} {member}");
            }
        }
    }
    let change = |settings: &mut ModelSettings| settings.model = "gemini-x-max".to_owned();
    let received = sent("gemini", change, &request(CALL)).await;
    assert_eq!(received.path, "/v1/models/gemini-x-max:streamGenerateContent?alt=sse");
}

#[tokio::test]
async fn every_provider_is_told_to_think_in_its_own_words() {
    for (provider, name, thinking, members) in [
        (
            "openai",
            "gpt-5",
            Thinking::Off,
            json!({"reasoning_effort": "none", "max_completion_tokens": 16384}),
        ),
        ("openai", "gpt-5", Thinking::High, json!({"reasoning_effort": "high"})),
        (
            "deepseek",
            "m",
            Thinking::Off,
            json!({"thinking": {"type": "disabled"}, "reasoning_effort": null}),
        ),
        (
            "deepseek",
            "m",
            Thinking::Low,
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ),
        (
            "zai",
            "glm-5",
            Thinking::Medium,
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": null}),
        ),
        (
            "anthropic",
            "claude-sonnet-4-5",
            Thinking::Tokens(3000),
            json!({"thinking": {"type": "enabled", "budget_tokens": 3000}, "max_tokens": 19384, "temperature": null}),
        ),
        (
            "anthropic",
            "claude-sonnet-4-5",
            Thinking::High,
            json!({"thinking": {"type": "enabled", "budget_tokens": 24000}, "max_tokens": 40384}),
        ),
        (
            "anthropic",
            "claude-sonnet-5",
            Thinking::Low,
            json!({"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}}),
        ),
        (
            "anthropic",
            "claude-sonnet-5",
            Thinking::Off,
            json!({"thinking": {"type": "disabled"}, "temperature": null}),
        ),
        (
            "anthropic",
            "claude-sonnet-4-5",
            Thinking::Off,
            json!({"thinking": null, "temperature": 0.0}),
        ),
        ("ollama", "m", Thinking::Off, json!({"think": false})),
        ("ollama", "m", Thinking::High, json!({"think": "high"})),
    ] {
        let change = |settings: &mut ModelSettings| {
            settings.thinking = Some(thinking);
            settings.model = name.to_owned();
        };
        let received = sent(provider, change, &request(CALL)).await;
        for (member, expected) in members.as_object().unwrap() {
            assert_eq!(&received.body[member], expected, "{provider} {thinking:?} {member}");
        }
    }
}

/// Anthropic refuses thinking beside a forced call, and behind calls whose thoughts are missing.
#[tokio::test]
async fn claude_does_not_think_where_that_is_refused() {
    let think = |settings: &mut ModelSettings| settings.thinking = Some(Thinking::Low);
    let forced = ModelRequest { tool_choice: ToolChoice::Required, ..request(CALL) };
    let kept = json!({"model_id": "anthropic/test-model", "blocks": [{"signed": {"bytes": 8, "signature": "s"}}]});
    for (request, thinks) in [
        (request(CALL), true),
        (conversation(Some(&kept.to_string())), true),
        (forced, false),
        (conversation(None), false),
    ] {
        let received = sent("anthropic", think, &request).await;
        assert_eq!(received.body["thinking"] != Value::Null, thinks);
    }
}

#[tokio::test]
async fn what_is_no_turn_has_its_own_temperature() {
    for (temperature, name, role, expected) in [
        (Temperature::Default, "gpt-4.1", Role::React, json!(0.0)),
        (Temperature::Default, "gpt-4.1", Role::Summary, json!(0.01)),
        (Temperature::Default, "gpt-5", Role::Summary, Value::Null),
        (Temperature::Fixed(0.7), "gpt-4.1", Role::React, json!(0.7)),
        (Temperature::Fixed(0.7), "gpt-5", Role::React, json!(0.7)),
        (Temperature::Fixed(0.7), "gpt-4.1", Role::Summary, json!(0.01)),
        (Temperature::Never, "gpt-4.1", Role::Summary, Value::Null),
        (Temperature::Fixed(0.7), "gpt-4.1", Role::Compactor, json!(0.01)),
        (Temperature::Default, "gpt-4.1", Role::Employees, json!(0.01)),
        (Temperature::Fixed(0.7), "gpt-4.1", Role::Employees, json!(0.01)),
        (Temperature::Never, "gpt-4.1", Role::Employees, Value::Null),
    ] {
        let change = |settings: &mut ModelSettings| {
            settings.temperature = temperature;
            settings.model = name.to_owned();
        };
        let received = sent("openai", change, &ModelRequest { role, ..request(CALL) }).await;
        assert_eq!(received.body["temperature"], expected, "{temperature:?} {name} {role:?}");
    }
}

#[tokio::test]
async fn whether_to_call_is_said_in_every_providers_words() {
    let named = || ToolChoice::Named("web_fetch".to_owned());
    for (provider, choice, expected) in [
        ("openai", ToolChoice::None, json!("none")),
        ("openai", ToolChoice::Required, json!("required")),
        ("openai", named(), json!({"type": "function", "function": {"name": "web_fetch"}})),
        ("openai_resp", ToolChoice::Required, json!("required")),
        ("anthropic", ToolChoice::None, json!({"type": "none"})),
        ("anthropic", ToolChoice::Required, json!({"type": "any"})),
        ("anthropic", named(), json!({"type": "tool", "name": "web_fetch"})),
    ] {
        let request = ModelRequest { tool_choice: choice, ..request(CALL) };
        let received = sent(provider, |_| {}, &request).await;
        assert_eq!(received.body["tool_choice"], expected, "{provider}");
    }
    // Ollama cannot be told, so it is offered nothing.
    let none = ModelRequest { tool_choice: ToolChoice::None, ..request(CALL) };
    assert_eq!(sent("ollama", |_| {}, &none).await.body["tools"], Value::Null);
    // Without tools there is nothing to choose.
    let bare = ModelRequest { tools: Vec::new(), ..none };
    assert_eq!(sent("openai", |_| {}, &bare).await.body["tool_choice"], Value::Null);
    // Anthropic refuses past calls of tools that the request does not name.
    let past =
        ModelRequest { tools: Vec::new(), tool_choice: ToolChoice::None, ..conversation(None) };
    let body = sent("anthropic", |_| {}, &past).await.body;
    assert_eq!(body["tools"].as_array().map(Vec::len), Some(2));
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
    assert_eq!(sent("openai", |_| {}, &past).await.body["tools"], Value::Null);
}

/// genai would make a search of Anthropic's own of it, without its schema.
#[tokio::test]
async fn a_tool_called_web_search_stays_ours() {
    let request = ModelRequest { tools: vec![tool("web_search")], ..request(CALL) };
    let body = sent("anthropic", |_| {}, &request).await.body;
    assert_eq!(body["tools"][0]["type"], Value::Null);
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
}

#[tokio::test]
async fn without_an_interface_for_tools_they_are_described() {
    let change = |settings: &mut ModelSettings| *settings = struct_parse(settings.clone());
    let body = sent("openai", change, &conversation(None)).await.body;
    assert_eq!(body["tools"], Value::Null);
    let messages = body["messages"].as_array().unwrap();
    let system = messages[0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be brief.\n\n# How to call a tool"), "{system}");
    assert!(system.contains("- mcp.fetch: Does mcp.fetch."), "{system}");
    assert!(system.contains("\"properties\": {"), "{system}");
    assert_eq!(
        messages[1..],
        [
            json!({"role": "user", "content": "Look."}),
            json!({"role": "assistant", "content": "I look.\n\n```json\n{\"function_name\":\"web_fetch\",\"url\":\"a\"}\n```\n\n```json\n{\"function_name\":\"mcp.fetch\"}\n```"}),
            json!({"role": "user", "content": "Result of web_fetch:\n\nA\n\nResult of mcp.fetch:\n\nB\n\nGo on."}),
        ]
    );
    assert!(!system.contains("must call"), "{system}");
    let required = ModelRequest { tool_choice: ToolChoice::Required, ..conversation(None) };
    let body = sent("openai", change, &required).await.body;
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("Your reply must call at least one tool.\n\nThese tools"), "{system}");
    let none = ModelRequest { tool_choice: ToolChoice::None, ..conversation(None) };
    let body = sent("openai", change, &none).await.body;
    assert_eq!(body["messages"][0]["content"], "Be brief.");
}

#[tokio::test]
async fn extra_members_go_over_ours() {
    let change = |settings: &mut ModelSettings| {
        settings.extra =
            json!({"max_tokens": 7, "enable_thinking": false}).as_object().unwrap().clone();
    };
    let body = sent("openai", change, &request(CALL)).await.body;
    assert_eq!(body["max_tokens"], 7);
    assert_eq!(body["enable_thinking"], false);
}

#[tokio::test]
async fn an_address_with_a_query_keeps_it() {
    let change = |settings: &mut ModelSettings| {
        let url = settings.base_url.take().unwrap();
        settings.base_url = Some(format!("{url}?api-version=2026-01-01"));
        settings.key = ModelKey::None;
    };
    let received = sent("openai", change, &request(CALL)).await;
    assert_eq!(received.path, "/v1/chat/completions?api-version=2026-01-01");
    assert_eq!(received.headers["authorization"], "Bearer none");
}

/// Asks a server that answers so.
async fn refused(script: Script) -> ModelError {
    let (server, address) = Server::start().await;
    server.on(CALL, script);
    ask(&models(model("openai", address)), &request(CALL)).await.unwrap_err()
}

#[tokio::test]
async fn a_refusal_is_told_in_the_providers_words_without_the_key_or_what_users_wrote() {
    let asked = "What do Anna Ruiz and her two sons owe us?";
    let said = "You are to find out what customers owe.";
    let body = json!({"error": {"message": format!("Bad key {KEY}. You said: {said} {asked}"), "code": "invalid_api_key"}});
    let (server, address) = Server::start().await;
    server.on(CALL, Script::status(401, &body.to_string()));
    let request = ModelRequest {
        system: said.to_owned(),
        messages: vec![Message::User(format!("The question:\n{asked}"))],
        external_texts: vec![asked.to_owned()],
        ..request(CALL)
    };
    let error = ask(&models(model("openai", address)), &request).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::KeyRefused);
    assert_eq!(error.detail, format!("HTTP 401: Bad key ***. You said: {said} …"));
    assert_eq!(error.retry_after, None);
}

#[tokio::test]
async fn a_wait_that_the_provider_asks_for_is_passed_on() {
    let mut script = Script::status(429, r#"{"error":{"message":"slow down"}}"#);
    script.headers.push(("retry-after".to_owned(), "12".to_owned()));
    let error = refused(script).await;
    assert_eq!(error.kind, ModelErrorKind::Overloaded);
    assert_eq!(error.detail, "HTTP 429: slow down");
    assert_eq!(error.retry_after, Some(Duration::from_secs(12)));

    let mut script = Script::status(503, "");
    for (name, value) in [
        ("date", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ("retry-after", "Wed, 21 Oct 2015 07:28:05 GMT"),
    ] {
        script.headers.push((name.to_owned(), value.to_owned()));
    }
    let error = refused(script).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(5)));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let mut script = Script::status(307, "");
    script.headers.push(("location".to_owned(), "http://127.0.0.1:1/".to_owned()));
    let error = refused(script).await;
    assert_eq!(error.kind, ModelErrorKind::Refused);
    assert_eq!(error.detail, "HTTP 307");
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    // One that hangs up on whoever calls, before TLS or any answer.
    let rude = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hangs_up = rude.local_addr().unwrap();
    tokio::spawn(async move { while rude.accept().await.is_ok() {} });
    for url in [
        format!("http://{address}/v1/"),
        format!("http://{hangs_up}/v1/"),
        format!("https://{hangs_up}/v1/"),
    ] {
        let settings = ModelSettings { base_url: Some(url.clone()), ..model("openai", address) };
        let error = ask(&models(settings), &request(CALL)).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Unreachable, "{url}");
        let words = "127.0.0.1 cannot be reached: ";
        assert!(error.detail.starts_with(words), "{}", error.detail);
        assert!(!error.detail.contains("http"), "{}", error.detail);
    }
}

#[tokio::test]
async fn a_role_without_a_model_says_so() {
    let models = Models::new(Settings::default(), NoSecrets);
    let error = ask(&models, &request(CALL)).await.unwrap_err();
    assert_eq!(
        error,
        ModelError {
            kind: ModelErrorKind::NotConfigured,
            detail: "the role react has none".to_owned(),
            retry_after: None,
            usage: Usage::default(),
        }
    );
    assert_eq!(models.limits(Role::React, ModelChoice::Primary), Err(error));
    assert!(models.count_tokens("hello world") > 0);
}

#[tokio::test]
async fn limits_are_the_settings() {
    let settings = ModelSettings::new(Provider::OPENAI, "gpt-4");
    let models = models(settings);
    let limits = models.limits(Role::Summary, ModelChoice::Primary).unwrap();
    assert_eq!(limits.max_input_tokens, 100_000);
    assert_eq!(limits.call_timeout, Duration::from_secs(300));
    assert_eq!(models.count_tokens("お誕生日おめでとう"), 8);
}

/// A store that fails before it answers, and counts how often it is asked.
#[derive(Default)]
struct Store(Mutex<BTreeMap<String, u32>>);

impl Secrets for &Store {
    async fn read_secret(&self, name: &str) -> Result<Secret, SecretError> {
        let asked = {
            let mut asked = self.0.lock().unwrap();
            let asked = asked.entry(name.to_owned()).or_default();
            *asked += 1;
            *asked
        };
        match (name, asked) {
            ("missing", _) => Err(SecretError::Missing("there is no `missing`".to_owned())),
            (_, 1) => Err(SecretError::Unavailable("throttled".to_owned())),
            _ => Ok(Secret::new("sk-from-the-store\n")),
        }
    }
}

#[tokio::test]
async fn a_stored_key_is_read_on_the_first_call_and_once() {
    let (server, address) = Server::start().await;
    server.on(CALL, reply_of("openai"));
    let store = Store::default();
    let with_key = |name: &str| {
        let settings =
            ModelSettings { key: ModelKey::Stored(name.to_owned()), ..model("openai", address) };
        Models::new(Settings::single("main", settings), &store)
    };
    let models = with_key("djinn/key");
    assert!(store.0.lock().unwrap().is_empty(), "nothing is read before a call");
    let error = models.call(&request(CALL), &mut |_| {}).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
    assert_eq!(error.detail, "its key cannot be read: throttled");
    for _ in 0..3 {
        models.call(&request(CALL), &mut |_| {}).await.unwrap();
    }
    assert_eq!(store.0.lock().unwrap()["djinn/key"], 2);
    assert_eq!(server.received(CALL).headers["authorization"], "Bearer sk-from-the-store");

    let error = with_key("missing").call(&request(CALL), &mut |_| {}).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::KeyMissing);
}

#[tokio::test]
async fn a_key_that_was_replaced_is_read_after_the_old_one_is_refused() {
    /// A store whose key changes each time.
    #[derive(Default)]
    struct Rotating(Mutex<u32>);

    impl Secrets for Rotating {
        async fn read_secret(&self, _name: &str) -> Result<Secret, SecretError> {
            let mut asked = self.0.lock().unwrap();
            *asked += 1;
            Ok(Secret::new(&format!("sk-{asked}")))
        }
    }

    let (server, address) = Server::start().await;
    let key = ModelKey::Stored("djinn/key".to_owned());
    let settings = ModelSettings { key, ..model("openai", address) };
    let models = Models::new(Settings::single("main", settings), Rotating::default());
    let mut sent = Vec::new();
    for (status, kind) in [
        (500, ModelErrorKind::Overloaded),
        (401, ModelErrorKind::KeyRefused),
        (403, ModelErrorKind::KeyRefused),
    ] {
        server.on(CALL, Script::status(status, "{}"));
        let error = models.call(&request(CALL), &mut |_| {}).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error:?}");
        sent.push(server.received(CALL).headers["authorization"].clone());
    }
    server.on(CALL, reply_of("openai"));
    for _ in 0..2 {
        models.call(&request(CALL), &mut |_| {}).await.unwrap();
        sent.push(server.received(CALL).headers["authorization"].clone());
    }
    assert_eq!(sent, ["sk-1", "sk-1", "sk-2", "sk-3", "sk-3"].map(|key| format!("Bearer {key}")));
}
