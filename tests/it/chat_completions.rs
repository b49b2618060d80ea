//! Chat Completions: what the clients of OpenAI's API are sent, and what Djinn makes of their messages.

use reqwest::Method;
use serde_json::{Value, json};

use crate::human_requests::APPROVAL;
use crate::world::{Answer, Options, SALES, World};

const PATH: &str = "/v1/chat/completions";

async fn ask(world: &World, headers: &[(&str, &str)], body: &Value) -> Answer {
    let mut request = world.client.request(Method::POST, PATH).json(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Answer::of(request.send().await.unwrap()).await
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// The content, the reasoning and the last finish reason of a stream, whose last event must be `[DONE]`.
fn read_chunks(answer: &Answer) -> (String, String, String) {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.header("content-type").starts_with("text/event-stream"));
    let data: Vec<&str> =
        answer.text.lines().filter_map(|line| line.strip_prefix("data:")).collect();
    let (done, chunks) = data.split_last().unwrap();
    assert_eq!(*done, "[DONE]");
    let (mut content, mut reasoning, mut reason) = (String::new(), String::new(), String::new());
    for (nth, chunk) in chunks.iter().enumerate() {
        let chunk: Value = serde_json::from_str(chunk).unwrap();
        assert_eq!(chunk["object"], "chat.completion.chunk");
        let Some(choice) = chunk["choices"].get(0) else { continue };
        let text = |name: &str| choice["delta"][name].as_str().unwrap_or_default().to_owned();
        assert_eq!(text("role") == "assistant", nth == 0, "the first chunk alone names the role");
        content.push_str(&text("content"));
        reasoning.push_str(&text("reasoning_content"));
        if let Some(last) = choice["finish_reason"].as_str() {
            reason = last.to_owned();
        }
    }
    (content, reasoning, reason)
}

/// The text and the finish reason of a document.
fn read_document(answer: &Answer) -> (String, String) {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let document = answer.json();
    assert_eq!(document["object"], "chat.completion", "{document}");
    let choice = &document["choices"][0];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&choice["message"]["content"]), text(&choice["finish_reason"]))
}

#[tokio::test]
async fn an_answer_is_streamed_in_chunks_with_other_work_as_reasoning() {
    let world = World::start().await;
    let read = json!({"command": "get", "filename": "sales.csv"});
    world.upload("c1", "sales.csv", SALES).await;
    let rule = world.model.on("Which region grew?").say("I look.").call("file_tool", read);
    rule.then().reason("North is up.").reply("North grew.");
    let body = json!({
        "model": "djinn-react", "messages": [user("Which region grew?")], "stream": true,
        "stream_options": {"include_usage": true}, "temperature": 0.2,
    });
    let answer = ask(&world, &[("x-session-id", "c1")], &body).await;
    let (content, reasoning, reason) = read_chunks(&answer);
    assert_eq!((content.as_str(), reason.as_str()), ("I look.\n\nNorth grew.", "stop"));
    assert!(reasoning.contains("› file_tool {"), "{reasoning}");
    assert!(reasoning.ends_with("North is up."), "{reasoning}");
    assert!(answer.text.contains("\"total_tokens\":"), "{}", answer.text);
    assert_eq!(answer.header("djinn-ignored"), "temperature");
    world.model.assert_done();
}

#[tokio::test]
async fn a_document_has_the_answer_the_files_and_the_tokens() {
    let world = World::start().await;
    let note = json!({"command": "upload", "filename": "note.md", "content": "9"});
    let rule = world.model.on("Note it.").say("I note it.").call("file_tool", note);
    rule.usage(100, 20, 0).then().reply("It is noted.").usage(200, 30, 0);
    let body = json!({"model": "djinn", "messages": [user("Note it.")]});
    let answer = ask(&world, &[], &body).await;
    assert_eq!(answer.header("content-type"), "application/json");
    let (text, reason) = read_document(&answer);
    let (said, link) = text.split_once("\n\n- [note.md](").unwrap();
    assert_eq!((said, reason.as_str()), ("It is noted.", "stop"));
    let file = world.client.follow(link.trim_end_matches(')')).await;
    assert_eq!((file.status, file.text.as_str()), (200, "9"));
    let document = answer.json();
    assert_eq!(document["usage"]["total_tokens"], 350);
    assert_eq!(document["id"], answer.header("djinn-run-id"));
}

#[tokio::test]
async fn messages_are_the_history_unless_a_session_is_named() {
    let world = World::start().await;
    let rule = world.model.on("And the second?").reply("Silver.");
    rule.then().reply("Silver again.");
    world.model.on("Which is the first?").reply("Gold, of ours.");
    let messages = json!([
        {"role": "system", "content": "You like metals."},
        user("Which metal is the first?"), assistant("Gold, of the client."), user("And the second?"),
    ]);
    let body = json!({"model": "djinn", "messages": messages});
    assert_eq!(read_document(&ask(&world, &[], &body).await).0, "Silver.");
    let request = world.model.requests().pop().unwrap();
    assert!(request.system().contains("You like metals."), "{}", request.system());
    assert!(request.transcript().contains("Gold, of the client."), "{}", request.transcript());
    let sessions = world.get("/sessions").await.json();
    assert_eq!(sessions["sessions"], json!([]), "the client keeps this history");

    let session = [("x-openwebui-chat-id", "chat 7/ä")];
    let first = json!({"model": "djinn", "messages": [user("Which is the first?")]});
    assert_eq!(read_document(&ask(&world, &session, &first).await).0, "Gold, of ours.");
    assert_eq!(read_document(&ask(&world, &session, &body).await).0, "Silver again.");
    let transcript = world.model.requests().pop().unwrap().transcript();
    assert!(transcript.contains("Gold, of ours."), "{transcript}");
    assert!(!transcript.contains("Gold, of the client."), "{transcript}");
    let sessions = world.get("/sessions").await.json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_request_ends_the_answer_and_the_next_message_of_the_history_responds() {
    let world = World::start_with(|options: &mut Options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
    })
    .await;
    let note = json!({"command": "upload", "filename": "note.md", "content": "9"});
    let rule = world.model.on("Note it.").say("I note it.").call("file_tool", note);
    rule.then().reply("It is noted.");
    let mut messages = vec![user("Note it.")];
    let body = json!({"model": "djinn", "messages": messages, "stream": true});
    let (content, _, reason) = read_chunks(&ask(&world, &[], &body).await);
    assert_eq!(reason, "stop");
    assert!(content.starts_with("I note it.\n\n- `file_tool` ("), "{content}");
    let (_, run) = content.rsplit_once("\n\n`run_").unwrap();
    assert!(run.ends_with('`'), "{content}");

    messages.extend([assistant(&content), user("confirm")]);
    let body = json!({"model": "djinn", "messages": messages, "stream": true});
    let (content, _, _) = read_chunks(&ask(&world, &[], &body).await);
    assert!(content.starts_with("It is noted.\n\n- [note.md]("), "{content}");
    assert_eq!(world.model.requests().len(), 2, "the message started no other run");
}

#[tokio::test]
async fn a_repeat_of_a_lost_request_joins_its_run_and_a_new_question_does_not() {
    let world = World::start().await;
    world.model.on("How far?").reply("Three miles.").then().reply("Four miles.");
    let body = json!({"model": "djinn", "messages": [user("How far?")]});
    let first = ask(&world, &[("x-stainless-retry-count", "0")], &body).await;
    let again = ask(&world, &[("x-stainless-retry-count", "1")], &body).await;
    assert_eq!(read_document(&first).0, "Three miles.");
    assert_eq!(read_document(&again).0, "Three miles.");
    assert_eq!(first.header("djinn-run-id"), again.header("djinn-run-id"));
    let other = ask(&world, &[], &body).await;
    assert_eq!(read_document(&other).0, "Four miles.");
}

#[tokio::test]
async fn parts_of_a_message_become_files_and_nothing_is_fetched() {
    let world = World::start().await;
    world.model.on("What is in it?").reply("A letter.");
    let part = |name: &str, uri: &str| json!({"type": "file", "file": {"filename": name, "file_data": uri}});
    let ask_about = async |part: Value| {
        let content = json!([{"type": "text", "text": "What is in it?"}, part]);
        let body = json!({"messages": [{"role": "user", "content": content}]});
        ask(&world, &[("x-session-id", "s1")], &body).await
    };
    let answer = ask_about(part("letter.txt", "data:text/plain;base64,RGVhcg==")).await;
    assert_eq!(read_document(&answer).0, "A letter.");
    let files = world.get("/sessions/s1/files").await.json();
    assert_eq!(files["files"][0]["name"], "letter.txt", "{files}");
    let url = json!({"type": "image_url", "image_url": {"url": "https://evil.example/a.png"}});
    let refused = ask_about(url).await;
    let error = &refused.json()["error"];
    assert_eq!((refused.status, &error["type"]), (400, &json!("invalid_request_error")));
    assert_eq!(error["param"], "messages[0].content[1].image_url");
}

#[tokio::test]
async fn an_error_has_the_shape_of_the_clients_and_says_whether_to_repeat() {
    let world = World::start().await;
    let unknown = json!({"model": "gpt-5", "messages": [user("How far?")]});
    let refused = ask(&world, &[], &unknown).await;
    assert_eq!((refused.status, refused.header("x-should-retry")), (400, "false"));
    let error = &refused.json()["error"];
    assert_eq!((&error["code"], &error["param"]), (&json!("unknown_agent"), &json!("model")));
    assert!(error["message"].as_str().unwrap().contains("`react`"), "{error}");
}

#[tokio::test]
async fn models_are_the_modes_that_need_only_a_question() {
    let world = World::start().await;
    let models = world.get("/v1/models").await.json();
    let models = models["data"].as_array().unwrap();
    let names: Vec<_> = models.iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(&names[..2], ["djinn", "djinn-react"]);
    assert!(names.contains(&"djinn-plan-solve") && names.contains(&"djinn-router"), "{names:?}");
    assert!(!names.contains(&"djinn-workflow"), "{names:?}");
}
