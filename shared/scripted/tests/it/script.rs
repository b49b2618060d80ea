//! Matching of rules, unexpected requests, and recorded requests.

use std::panic::{AssertUnwindSafe, catch_unwind};

use djinn_scripted::{MessageRole, ScriptedModel};
use serde_json::{Value, json};

use crate::client::{anthropic_question, ask, content, post, question};

async fn said(server: &ScriptedModel, text: &str) -> String {
    let stream = ask(server, text).await.text().await.unwrap();
    content(&stream).concat()
}

fn panic_of(action: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(action)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[tokio::test]
async fn rules_are_tried_in_order_and_used_up() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("price").reply("first").then().reply("second");
    server.on_request(|request| request.system() == "Be brief.").reply("else").always();
    server.on("never asked").reply("x").always();
    assert_eq!(said(&server, "the price?").await, "first");
    assert_eq!(said(&server, "the stock?").await, "else");
    assert_eq!(said(&server, "the price?").await, "second");
    assert_eq!(said(&server, "the price?").await, "else");
    server.assert_done();
}

#[tokio::test]
async fn an_unexpected_request_is_refused_and_fails_the_test() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("price").reply("12 EUR");
    let response = ask(&server, "the stock?").await;
    assert_eq!(response.status(), 500);
    let body: Value = response.json().await.unwrap();
    let message = body["error"]["message"].as_str().unwrap();
    assert!(message.contains("no rule expects it; left are: on(\"price\") at "), "{message}");
    assert!(message.contains("01 user the stock?"), "{message}");

    let panic = panic_of(|| server.assert_done());
    assert!(panic.contains("request 1 is unexpected") && panic.contains("not used: on(\"price\")"));
    assert!(panic.contains("script.rs"), "{panic}");
}

#[tokio::test]
async fn dropping_a_server_with_unexpected_requests_fails_the_test() {
    let server = ScriptedModel::start().await.unwrap();
    ask(&server, "the stock?").await;
    let panic = panic_of(|| drop(server));
    assert!(panic.contains("no rule is left"), "{panic}");
}

#[tokio::test]
async fn a_tool_must_be_offered() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("hello").call("web_fetch", json!({}));
    assert_eq!(ask(&server, "hello").await.status(), 500);
    let unexpected = server.take_unexpected();
    assert!(unexpected[0].contains("calls `web_fetch`, which the request does not offer"));

    server.on("hello").call_unknown("web_fetch", json!({}));
    assert_eq!(ask(&server, "hello").await.status(), 200);

    server.on("hello").call("look_up", json!({}));
    let mut silenced = question("hello");
    silenced["tool_choice"] = json!("none");
    assert_eq!(post(&server, "chat/completions", &silenced).await.status(), 500);
    assert!(server.take_unexpected()[0].contains("tool choice: none"));
    server.assert_done();
}

#[tokio::test]
async fn what_a_provider_would_refuse_is_unexpected() {
    let server = ScriptedModel::start().await.unwrap();
    server.on_request(|_| true).reply("fine").always();
    let call = json!({"id": "c1", "function": {"name": "look_up", "arguments": "{}"}});
    let called = json!({"role": "assistant", "content": "", "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "7"});
    let user = json!({"role": "user", "content": "go on"});
    let cases = [
        (json!([]), "there are no messages"),
        (json!([user, called, user]), "the call `c1` has no result"),
        (json!([user, result, user]), "the result of `c1` answers no open call"),
        (json!([user, called, result, result]), "the result of `c1` answers no open call"),
        (
            json!([user, {"role": "assistant", "content": "hi"}]),
            "the last message is the assistant's",
        ),
    ];
    for (messages, why) in cases {
        let mut body = question("");
        body["messages"] = messages;
        assert_eq!(post(&server, "chat/completions", &body).await.status(), 400);
        let unexpected = server.take_unexpected();
        assert!(unexpected[0].contains(why), "{unexpected:?}");
    }
    let response = post(&server, "messages", &anthropic_question(" ")).await;
    assert_eq!(response.status(), 400);
    let response = post(&server, "responses", &question("hello")).await;
    assert_eq!(response.status(), 404);
    let response = post(&server, "chat/completions", &json!({"messages": []})).await;
    assert_eq!(response.status(), 500);
    let unexpected = server.take_unexpected();
    let expected = ["message 0 is empty", "POST /v1/responses is no route", "not ask for a stream"];
    for (unexpected, expected) in unexpected.iter().zip(expected) {
        assert!(unexpected.contains(expected), "{unexpected}");
    }
}

#[tokio::test]
async fn requests_are_recorded_alike_from_both_protocols() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("result look_up 7").reply("It is 7.").always();
    let mut openai = question("How many?");
    openai["temperature"] = json!(0.5);
    openai["tool_choice"] = json!("required");
    openai["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "c1", "function": {"name": "look_up", "arguments": "{\"of\":\"x\"}"}},
        ]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "7"}),
        json!({"role": "user", "content": [{"type": "text", "text": "Go\non"}]}),
    ]);
    let mut anthropic = anthropic_question("How many?");
    anthropic["temperature"] = json!(0.5);
    anthropic["tool_choice"] = json!({"type": "any"});
    anthropic["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"of": "x"}},
        ]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "7"},
        ]}),
        json!({"role": "user", "content": "Go\non"}),
    ]);
    post(&server, "chat/completions", &openai).await;
    post(&server, "messages", &anthropic).await;

    let requests = server.requests();
    for (request, json) in requests.iter().zip([&openai, &anthropic]) {
        assert_eq!(request.json(), json);
        assert_eq!(request.temperature(), Some(0.5));
        assert_eq!(request.tool_choice(), Some("required"));
        assert_eq!(request.tools()[0].name, "look_up");
        assert!(request.has_result_for("look_up") && !request.has_result_for("c1"));
        assert_eq!(
            (request.last_user_text(), request.messages()[2].role),
            ("Go\non", MessageRole::Tool)
        );
        assert_eq!(request.header("content-type"), Some("application/json"));
        let expected = "00 system Be brief.\n01 user How many?\n02 assistant I look.\n\
                        03 call look_up {\"of\":\"x\"}\n04 result look_up 7\n05 user Go⏎on\n";
        assert_eq!(request.transcript(), expected);
    }
    assert_eq!(requests[0].messages(), requests[1].messages());
    assert_eq!((requests[0].model(), requests[1].model()), ("gpt-test", "claude-test"));
}

#[tokio::test]
async fn transcripts_cut_long_texts() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("long").reply("fine");
    ask(&server, &"long ".repeat(100)).await;
    let transcript = server.last_request().unwrap().transcript();
    let last = transcript.lines().last().unwrap();
    assert_eq!((last.chars().count(), last.ends_with('…')), (124, true));
}
