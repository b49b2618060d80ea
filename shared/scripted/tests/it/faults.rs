//! Scripted faults of a response.

use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};

use crate::client::{anthropic_question, ask, chunk, content, post};

#[tokio::test]
async fn statuses_have_the_providers_error_bodies() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("hello").status(429).retry_after(1).then().status(529);

    let response = ask(&server, "hello").await;
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "1");
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["error"]["type"], "rate_limit_error");

    let response = post(&server, "messages", &anthropic_question("hello")).await;
    assert_eq!(response.status(), 529);
    let body: Value = response.json().await.unwrap();
    assert_eq!(
        (&body["type"], &body["error"]["type"]),
        (&json!("error"), &json!("overloaded_error"))
    );
    server.assert_done();
}

#[tokio::test]
async fn a_status_may_have_any_body_and_headers() {
    let server = ScriptedModel::start().await.unwrap();
    let body = json!({"detail": ["who are you?"]});
    server.on("hello").status_body(401, body.clone()).header("x-request-id", "7");
    let response = ask(&server, "hello").await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["x-request-id"]),
        (401, &"7".parse().unwrap())
    );
    assert_eq!(response.json::<Value>().await.unwrap(), body);
}

#[tokio::test]
async fn a_cut_closes_the_socket_after_exactly_those_chunks() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("hello").deltas(["a", "b", "c"]).cut_after(2);
    let mut response = ask(&server, "hello").await;
    chunk(&mut response).await;
    assert_eq!(content(&chunk(&mut response).await), ["a"]);
    assert!(response.chunk().await.is_err());
    let request = server.last_request().unwrap();
    request.wait_until_ended().await;
    assert_eq!((request.chunks_sent(), request.is_closed_early()), (2, false));
}

#[tokio::test]
async fn an_error_may_come_inside_the_stream() {
    let server = ScriptedModel::start().await.unwrap();
    let rule = server.on("hello").reply("a").fail_after(1, "overloaded_error", "Overloaded");
    rule.always();
    let stream = ask(&server, "hello").await.text().await.unwrap();
    let last = r#"data: {"error":{"message":"Overloaded","type":"overloaded_error","code":null}}"#;
    assert!(stream.ends_with(&format!("{last}\n\n")) && content(&stream).is_empty());
    let response = post(&server, "messages", &anthropic_question("hello")).await;
    assert!(response.text().await.unwrap().contains("event: error\n"));
}

#[tokio::test]
async fn a_stream_may_end_without_its_last_word() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("hello").reply("a").no_done().then().reply("a").no_finish().no_usage();
    let stream = ask(&server, "hello").await.text().await.unwrap();
    assert!(stream.contains(r#""finish_reason":"stop""#) && !stream.contains("[DONE]"));
    let stream = ask(&server, "hello").await.text().await.unwrap();
    assert!(!stream.contains("stop") && stream.contains("[DONE]") && !stream.contains("_tokens"));
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed_and_nothing_more_is_sent() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("hello").deltas(["a", "b"]).hang_after(2);
    let mut response = ask(&server, "hello").await;
    chunk(&mut response).await;
    chunk(&mut response).await;
    drop(response);
    let request = server.last_request().unwrap();
    request.wait_until_ended().await;
    assert_eq!((request.chunks_sent(), request.is_closed_early()), (2, true));
}

#[tokio::test]
async fn a_server_that_hangs_sends_not_even_headers() {
    let server = ScriptedModel::start().await.unwrap();
    server.on("hello").hang();
    tokio::select! {
        response = ask(&server, "hello") => panic!("answered {response:?}"),
        request = server.wait_for_request(1) => assert_eq!(request.chunks_sent(), 0),
    }
    let request = server.wait_for_request(1).await;
    request.wait_until_ended().await;
    assert!(request.is_closed_early());
}

#[tokio::test]
async fn a_request_over_the_window_is_refused_in_the_providers_words() {
    let server = ScriptedModel::start().await.unwrap();
    server.limit_tokens(50);
    server.on("hello").reply("Hello.");
    assert_eq!(ask(&server, &"hello ".repeat(60)).await.status(), 400);
    let requests = server.refused_requests();
    assert!(requests.len() == 1 && requests[0].estimate_tokens() >= 60, "{requests:?}");
    assert_eq!(ask(&server, "hello").await.status(), 200);
    assert_eq!(server.refused_requests().len(), 1);
    server.assert_done();
}
