//! The Responses API: what the clients of OpenAI's API are sent, and how they resume, respond and stop.

use std::collections::BTreeMap;

use djinn_local::System;
use djinn_scripted::ScriptedModel;
use reqwest::Method;
use serde_json::{Value, json};

use crate::human_requests::APPROVAL;
use crate::restart;
use crate::world::{Answer, Client, Options, SALES, World};

const PATH: &str = "/v1/responses";

async fn ask(client: &Client, body: &Value) -> Answer {
    Answer::of(client.request(Method::POST, PATH).json(body).send().await.unwrap()).await
}

/// The events of a response, whose numbers rise.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.header("content-type").starts_with("text/event-stream"));
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data:"));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    assert!(events.iter().map(number).is_sorted_by(|one, next| one < next), "{}", answer.text);
    events
}

fn number(event: &Value) -> u64 {
    event["sequence_number"].as_u64().unwrap()
}

/// The joined pieces of each text item that is complete.
fn texts(events: &[Value]) -> Vec<String> {
    let mut texts = BTreeMap::<u64, String>::new();
    for event in events {
        let Some(index) = event["output_index"].as_u64() else { continue };
        if event["type"] == "response.output_text.delta" {
            texts.entry(index).or_default().push_str(event["delta"].as_str().unwrap());
        } else if event["item"]["status"] == "incomplete" {
            texts.remove(&index);
        }
    }
    texts.into_values().collect()
}

/// The texts of a response.
fn texts_of(response: &Value) -> Vec<&str> {
    let items = response["output"].as_array().unwrap().iter();
    items.filter_map(|item| item["content"][0]["text"].as_str()).collect()
}

fn document(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("content-type"), "application/json");
    let document = answer.json();
    assert_eq!(document["object"], "response", "{document}");
    document
}

#[tokio::test]
async fn answer_is_streamed_and_the_next_question_follows_it() {
    let world = World::start().await;
    world.upload("c1", "sales.csv", SALES).await;
    let read = json!({"command": "get", "filename": "sales.csv"});
    let rule = world.model.on("Which region grew?").say("I look.").call("file_tool", read);
    rule.then().reason("North is up.").reply("North grew.").usage(100, 20, 0);
    let body = json!({
        "model": "djinn-react", "input": "Which region grew?", "stream": true, "conversation": "c1",
        "instructions": "Be brief.", "temperature": 0.2,
    });
    let answer = ask(&world.client, &body).await;
    let sent = events(&answer);
    assert_eq!([&sent[0]["type"], &sent[1]["type"]], ["response.created", "response.in_progress"]);
    assert_eq!(texts(&sent), ["I look.", "North grew."]);
    let response = &sent.last().unwrap()["response"];
    assert_eq!(response["status"], "completed");
    assert_eq!(texts_of(response), ["I look.", "North grew."]);
    let reasoning = response["output"].to_string();
    assert!(reasoning.contains("› file_tool {") && reasoning.contains("North is up."));
    assert_eq!(response["id"], answer.header("djinn-run-id"));
    assert_eq!(response["conversation"]["id"], "c1");
    assert_eq!(answer.header("djinn-ignored"), "temperature");
    assert!(world.model.requests()[0].system().contains("Be brief."));

    let shown = document(&world.get(&format!("{PATH}/{}", response["id"].as_str().unwrap())).await);
    assert_eq!([&shown["output"], &shown["usage"]], [&response["output"], &response["usage"]]);

    world.model.on("And the second?").reply("South.");
    let items = json!([
        {"role": "user", "content": "Which region grew?"},
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And the second?"}]},
    ]);
    let body = json!({"input": items, "previous_response_id": response["id"]});
    let next = document(&ask(&world.client, &body).await);
    assert_eq!(texts_of(&next), ["South."]);
    assert_eq!(next["previous_response_id"], response["id"]);
    let transcript = world.model.requests().pop().unwrap().transcript();
    assert!(transcript.contains("North grew."), "{transcript}");
}

#[tokio::test]
async fn question_in_the_background_is_followed_and_stopped_by_its_id() {
    let world = World::start().await;
    let rule = world.model.on("How long?").reply("A very long answer");
    let gate = rule.gate(2);
    let body = json!({"input": "How long?", "background": true});
    let started = document(&ask(&world.client, &body).await);
    assert_eq!([&started["status"], &started["background"]], [&json!("in_progress"), &json!(true)]);
    let path = format!("{PATH}/{}", started["id"].as_str().unwrap());
    gate.wait_until_reached().await;
    let shown = document(&world.get(&path).await);
    assert_eq!(shown["status"], "in_progress");
    let stopped = document(&world.client.post(&format!("{path}/cancel"), &json!({})).await);
    assert_eq!(stopped["status"], "cancelled");
    let again = document(&world.client.post(&format!("{path}/cancel"), &json!({})).await);
    assert_eq!(again, stopped);
    let sent = events(&world.get(&format!("{path}?stream=true")).await);
    assert_eq!(sent.last().unwrap()["response"], stopped);
    let sessions = world.get("/sessions").await.json();
    assert_eq!(sessions["sessions"], json!([]), "a question without a session is in no list");
}

#[tokio::test]
async fn pause_completes_the_response_and_the_next_input_responds() {
    let world = World::start_with(|options: &mut Options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
        options.vars.push(("DJINN_LINK_KEY", crate::links::LINK_KEY.to_owned()));
    })
    .await;
    let note = json!({"command": "upload", "filename": "note.md", "content": "9"});
    let rule = world.model.on("Note it.").say("I note it.").call("file_tool", note);
    rule.then().reply("It is noted.");
    let paused = events(&ask(&world.client, &json!({"input": "Note it.", "stream": true})).await);
    let response = &paused.last().unwrap()["response"];
    assert_eq!([&response["status"], &response["metadata"]["run_status"]], ["completed", "paused"]);
    let shown = texts(&paused);
    assert_eq!(shown[0], "I note it.");
    assert!(shown[1].contains("`file_tool` (") && shown[1].contains("/respond/"), "{shown:?}");
    let path = format!("{PATH}/{}", response["id"].as_str().unwrap());
    assert_eq!(document(&world.get(&path).await)["metadata"]["run_status"], "paused");

    let body = json!({"input": "confirm", "stream": true, "previous_response_id": response["id"]});
    let sent = events(&ask(&world.client, &body).await);
    assert_eq!(sent[0]["type"], "response.created");
    assert_eq!(sent[0]["response"]["id"], response["id"], "the same run");
    assert!(number(&sent[0]) > number(paused.last().unwrap()));
    let shown = texts(&sent);
    assert_eq!(shown[0], "It is noted.");
    assert!(shown[1].starts_with("\n\n- [note.md]("), "{shown:?}");
    assert_eq!(world.model.requests().len(), 2, "the input started no other run");
}

#[tokio::test]
async fn failed_run_and_wrong_requests_are_errors_of_the_protocol() {
    let world = World::start().await;
    let words = "Incorrect API key provided";
    let rule = world.model.on("Who fails?");
    let _ = rule.error(401, "invalid_request_error", Some("invalid_api_key"), words);
    let sent = events(&ask(&world.client, &json!({"input": "Who fails?", "stream": true})).await);
    let last = sent.last().unwrap();
    assert_eq!([&last["type"], &last["response"]["status"]], ["response.failed", "failed"]);
    assert_eq!(last["response"]["error"]["code"], "model_key_refused");
    let run = last["response"]["id"].as_str().unwrap();
    let nobody = format!("run_{}", "0".repeat(32));
    let after = |run: &str, place: &str| format!("{PATH}/{run}?stream=true&starting_after={place}");
    for (path, status, code, field) in [
        (after(run, "-1"), 400, "invalid_field", json!("starting_after")),
        (after(run, "9007199254740991"), 400, "bad_cursor", json!("starting_after")),
        (format!("{PATH}/{run}?starting_after=1"), 400, "invalid_field", json!("starting_after")),
        (format!("{PATH}/{nobody}"), 404, "run_not_found", Value::Null),
    ] {
        let refused = world.get(&path).await;
        let error = &refused.json()["error"];
        assert_eq!((refused.status, &error["code"]), (status, &json!(code)), "{path}: {error}");
        assert_eq!(error["param"], field, "{path}");
    }
    for (foreign, status) in [(nobody.as_str(), 404), ("resp_7", 404)] {
        let body = json!({"input": "Hello?", "previous_response_id": foreign});
        let refused = ask(&world.client, &body).await;
        assert_eq!(refused.status, status, "{}", refused.text);
        assert_eq!(refused.json()["error"]["param"], "previous_response_id");
    }
}

#[tokio::test]
async fn client_resumes_in_mid_text_after_the_process_died() {
    let dir = tempfile::tempdir().unwrap();
    let model = ScriptedModel::start().await.unwrap();
    let rule = model.on("What survives?").reply("Half of the answer").hang_after(2);
    rule.then().reply("Everything survives.");
    let mut process = tokio::runtime::Builder::new_multi_thread();
    let process = process.worker_threads(1).enable_all().build().unwrap();
    let options = restart::options(dir.path(), &model, false);
    let system = process.spawn(async { System::start(options).await.unwrap() }).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let body = json!({"input": "What survives?", "stream": true});
    let mut stream = client.ask_with(client.request(Method::POST, PATH).json(&body)).await;
    let run = stream.run();
    let is_piece = |frame: &crate::world::Frame| frame.event() == "response.output_text.delta";
    let mut frames = stream.until(is_piece).await;
    process.shutdown_background();
    drop(system);
    frames.extend(stream.rest().await);
    let mut sent: Vec<Value> = frames
        .iter()
        .filter(|frame| frame.event().starts_with("response."))
        .map(crate::world::Frame::json)
        .collect();
    assert_ne!(texts(&sent), ["Everything survives."]);

    let system = System::start(restart::options(dir.path(), &model, false)).await.unwrap();
    let client = Client::new(format!("http://{}", system.address()));
    let last = number(sent.last().unwrap());
    let path = format!("{PATH}/{run}?stream=true&starting_after={last}");
    let rest = events(&client.get(&path).await);
    assert!(last < number(&rest[0]), "{rest:?}");
    sent.extend(rest);
    assert_eq!(texts(&sent), ["Everything survives."]);
    let response = &sent.last().unwrap()["response"];
    assert_eq!(
        (&response["status"], texts_of(response)),
        (&json!("completed"), vec!["Everything survives."])
    );
    model.assert_done();
}

#[tokio::test]
async fn three_protocols_show_a_run_at_work_alike() {
    let world = World::start().await;
    let rule = world.model.on("How deep?").reply("Very deep indeed.");
    let gate = rule.gate(2);
    let parts = json!([{"type": "text", "text": "How deep?"}]);
    let messages = json!([{"id": "m1", "role": "user", "parts": parts}]);
    let request = world.client.request(Method::POST, "/ai/chat");
    let request = request.json(&json!({"id": "c1", "messages": messages}));
    let chat = world.client.ask_with(request).await;
    let run = chat.run();
    gate.wait_until_reached().await;
    let path = format!("{PATH}/{run}?stream=true");
    let response = world.client.ask_with(world.client.request(Method::GET, &path)).await;
    let native = world.client.come_back(&run, None).await;
    gate.open();
    let (chat, response, native) = tokio::join!(chat.rest(), response.rest(), native.rest());
    let joined = |frames: &[crate::world::Frame], kind: &str| {
        let frames = frames.iter().filter_map(crate::world::Frame::received);
        let values = frames.filter_map(|frame| serde_json::from_str::<Value>(&frame.data).ok());
        let pieces = values.filter(|value| value["type"] == kind);
        pieces.map(|piece| piece["delta"].as_str().unwrap().to_owned()).collect::<String>()
    };
    assert_eq!(joined(&chat, "text-delta"), "Very deep indeed.");
    assert_eq!(joined(&response, "response.output_text.delta"), "Very deep indeed.");
    assert_eq!(native.last().unwrap().json()["answer"], "Very deep indeed.");
    let entries = native.iter().filter(|frame| frame.event() == "message.completed");
    assert_eq!(entries.count(), 1);
}
