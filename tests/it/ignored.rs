//! What a request says without any effect: our own routes refuse it, JoyAgent's clients are told.

use reqwest::Method;
use serde_json::json;

use crate::world::{Protocol, World, operations};

#[tokio::test]
async fn no_route_of_our_own_takes_a_parameter_that_it_does_not_know() {
    let world = World::start().await;
    let is_own = |path: &str| path.starts_with("/runs") || path.starts_with("/sessions");
    let operations: Vec<_> = operations().into_iter().filter(|(_, path)| is_own(path)).collect();
    assert!(operations.len() >= 14, "{operations:?}");
    let run = format!("run_{}", "0".repeat(32));
    let handle = format!("shr_{}", "0".repeat(32));
    for (method, path) in operations {
        let method: Method = method.parse().unwrap();
        let path = path.replace("{run}", &run).replace("{handle}", &handle);
        let path = path.replace("{session}", "s1").replace("{request}", "t1.c1") + "?q=gold";
        let request = world.request(method.clone(), &path).header("accept", "text/event-stream");
        let answer = crate::world::Answer::of(request.json(&json!({})).send().await.unwrap()).await;
        assert_eq!(answer.status, 400, "{method} {path}: {}", answer.text);
        let body = answer.json();
        assert_eq!((&body["code"], &body["field"]), (&"invalid_field".into(), &"q".into()));
    }
}

#[tokio::test]
async fn a_member_without_effect_is_refused_by_our_own_route_and_named_by_joyagents() {
    let world = World::start().await;
    world.model.on("Hello?").reply("Hello.").always();
    let extra = json!({
        "sopPrompt": "Do it so.", "messages": [{"role": "user", "content": "Before."}],
        "outputStyle": "poem", "erp": "", "more": null,
    });
    for name in ["sopPrompt", "messages", "outputStyle"] {
        let body = json!({"question": "Hello?", name: extra[name]});
        let request = world.request(Method::POST, "/runs").json(&body);
        let answer = crate::world::Answer::of(request.send().await.unwrap()).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
        assert_eq!(answer.json()["field"], *name);
        assert!(answer.text.contains("has no effect here"), "{}", answer.text);
    }
    assert_eq!(world.model.requests().len(), 0);

    for (protocol, label) in [(Protocol::Raw, "r1"), (Protocol::Ui, "r2")] {
        let mut body = extra.clone();
        body["query"] = "Hello?".into();
        body["requestId"] = label.into();
        let stream = world.ask_with(world.request(Method::POST, protocol.path()).json(&body)).await;
        assert_eq!(stream.header("djinn-ignored"), "messages, sopPrompt, outputStyle");
        let run = stream.run();
        stream.rest().await;
        // Whoever follows the run sees it as well.
        let events = world.get(&format!("/runs/{run}/events")).await.text;
        let begun = r#""ignored":["messages","sopPrompt","outputStyle"]"#;
        assert!(events.contains(begun), "{events}");
    }
}

#[tokio::test]
async fn a_field_of_joyagents_other_endpoint_is_named_as_ignored() {
    let world = World::start().await;
    world.model.on("Hello?").reply("Hello.").always();
    for (protocol, body, ignored) in [
        (Protocol::Raw, json!({"query": "Hello?", "deepThink": 1, "isStream": false}), "deepThink"),
        (
            Protocol::Ui,
            json!({"query": "Hello?", "deepThink": 0, "agentType": 3, "isStream": false}),
            "agentType, isStream",
        ),
    ] {
        let request = world.request(Method::POST, protocol.path());
        let stream = world.ask_with(request.json(&body)).await;
        assert_eq!(stream.header("djinn-ignored"), ignored);
        assert!(stream.rest().await.len() > 1);
    }
}
