//! The AI SDK's `useChat`: what it receives, and what Djinn makes of its messages.

use reqwest::Method;
use serde_json::{Value, json};

use crate::human_requests::APPROVAL;
use crate::world::{Answer, Options, SALES, World};

const PATH: &str = "/ai/chat";

async fn ask(world: &World, body: &Value) -> Answer {
    let request = world.client.request(Method::POST, PATH);
    let request = request.header("content-type", "text/plain;charset=UTF-8");
    Answer::of(request.body(body.to_string()).send().await.unwrap()).await
}

fn user(id: &str, text: &str) -> Value {
    json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]})
}

/// The chunks of a stream that ended.
fn chunks(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.header("content-type").starts_with("text/event-stream"));
    assert_eq!(answer.header("x-vercel-ai-ui-message-stream"), "v1");
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data:"));
    let chunks: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    assert_eq!(chunks.last().unwrap()["type"], "finish", "{}", answer.text);
    chunks
}

fn text(chunks: &[Value]) -> String {
    let deltas = chunks.iter().filter(|chunk| chunk["type"] == "text-delta");
    deltas.map(|chunk| chunk["delta"].as_str().unwrap()).collect()
}

fn find<'a>(chunks: &'a [Value], kind: &str) -> &'a Value {
    let found = chunks.iter().find(|chunk| chunk["type"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {chunks:?}"))
}

#[tokio::test]
async fn an_answer_has_its_text_its_calls_and_its_files_and_its_chat_is_a_session() {
    let world = World::start().await;
    world.upload("chat7", "sales.csv", SALES).await;
    let note = json!({"command": "upload", "filename": "note.md", "content": "9"});
    let rule = world.model.on("Which region grew?").say("I note it.").call("file_tool", note);
    rule.then().reason("North is up.").reply("North grew.");
    let body = json!({
        "id": "chat7", "messages": [user("m1", "Which region grew?")], "trigger": "submit-message", "theme": "dark",
    });
    let answer = ask(&world, &body).await;
    let sent = chunks(&answer);
    assert_eq!(text(&sent), "I note it.North grew.");
    assert_eq!(find(&sent, "reasoning-delta")["delta"], "North is up.");
    let call = find(&sent, "tool-input-available");
    assert_eq!((&call["toolName"], &call["dynamic"]), (&json!("file_tool"), &json!(true)));
    assert_eq!(find(&sent, "tool-output-available")["toolCallId"], call["toolCallId"]);
    let file = find(&sent, "data-file");
    let opened = world.client.follow(file["data"]["url"].as_str().unwrap()).await;
    assert_eq!((opened.status, opened.text.as_str()), (200, "9"));
    let run = answer.header("djinn-run-id");
    assert_eq!(find(&sent, "start")["messageId"], run);
    assert_eq!(answer.header("x-workflow-run-id"), format!("{run}:0"));
    assert_eq!(answer.header("djinn-ignored"), "theme");
    let finish = sent.last().unwrap();
    assert_eq!(
        (&finish["finishReason"], &finish["messageMetadata"]["status"]),
        (&json!("stop"), &json!("finished"))
    );

    // The client sends its whole history; the session has its own.
    world.model.on("And the second?").reply("South.");
    let messages = json!([
        user("m1", "Which region grew?"),
        {"id": run, "role": "assistant", "parts": [{"type": "text", "text": "Invented."}]},
        user("m2", "And the second?"),
    ]);
    let next = ask(&world, &json!({"id": "chat7", "messages": messages})).await;
    assert_eq!(text(&chunks(&next)), "South.");
    let transcript = world.model.requests().pop().unwrap().transcript();
    assert!(
        transcript.contains("North grew.") && !transcript.contains("Invented."),
        "{transcript}"
    );
}

#[tokio::test]
async fn a_repeat_joins_its_run_and_a_regenerated_answer_is_another_run() {
    let world = World::start().await;
    world.model.on("How far?").reply("Three miles.").then().reply("Four miles.");
    let body = json!({"id": "c1", "messages": [user("m1", "How far?")]});
    let first = ask(&world, &body).await;
    let again = ask(&world, &body).await;
    assert_eq!(text(&chunks(&again)), "Three miles.");
    assert_eq!(first.header("djinn-run-id"), again.header("djinn-run-id"));
    let run = first.header("djinn-run-id");
    let body = json!({
        "id": "c1", "messages": [user("m1", "How far?")], "trigger": "regenerate-message", "messageId": run,
    });
    assert_eq!(text(&chunks(&ask(&world, &body).await)), "Four miles.");

    // Without an active run there is nothing to resume, but a response can be had again.
    assert_eq!(world.get("/ai/chat/c1/stream").await.status, 204);
    let repeat = world.get(&format!("/ai/chat/{run}:0/stream?startIndex=3")).await;
    let sent = chunks(&repeat);
    assert_eq!((&sent[1]["type"], text(&sent).as_str()), (&json!("reset-step"), "Three miles."));
    let whole = world.get(&format!("/ai/chat/{run}:0/stream?startIndex=-5")).await;
    assert_eq!(whole.header("x-workflow-stream-tail-index"), "0");
    assert_eq!(chunks(&whole)[0]["type"], "start");
    assert_eq!(world.model.requests().len(), 2);
}

async fn approving_world() -> World {
    World::start_with(|options: &mut Options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
    })
    .await
}

/// An answer that waits for approval, as a client has it: the message with the user's decision.
async fn paused(world: &World, approval: Value) -> (Value, Answer) {
    let note = json!({"command": "upload", "filename": "note.md", "content": "9"});
    let rule = world.model.on("Note it.").say("I note it.").call("file_tool", note);
    rule.then().reply("So be it.");
    let body = json!({"id": "c2", "messages": [user("m1", "Note it.")]});
    let answer = ask(world, &body).await;
    let sent = chunks(&answer);
    let request = find(&sent, "tool-approval-request");
    assert_eq!(text(&sent), "I note it.", "an approval needs no text");
    let mut decision = approval;
    decision["id"] = request["approvalId"].clone();
    let message = json!({
        "id": find(&sent, "start")["messageId"], "role": "assistant",
        "metadata": sent.last().unwrap()["messageMetadata"],
        "parts": [
            {"type": "step-start"}, {"type": "text", "text": "I note it."},
            {"type": "dynamic-tool", "toolName": "file_tool", "toolCallId": request["toolCallId"],
             "state": "approval-responded", "input": {}, "approval": decision},
        ],
    });
    (json!({"id": "c2", "messages": [user("m1", "Note it."), message]}), answer)
}

#[tokio::test]
async fn an_approval_continues_the_same_message() {
    let world = approving_world().await;
    let (body, first) = paused(&world, json!({"approved": true})).await;
    let waiting = world.get("/ai/chat/c2/stream").await;
    find(&chunks(&waiting), "tool-approval-request");

    let answer = ask(&world, &body).await;
    let sent = chunks(&answer);
    assert_eq!(find(&sent, "start")["messageId"], first.header("djinn-run-id"));
    find(&sent, "tool-output-available");
    assert_eq!(text(&sent), "So be it.");
    assert!(answer.header("x-workflow-run-id").contains(":+"));

    // The same request again has no further effect.
    assert_eq!(text(&chunks(&ask(&world, &body).await)), "So be it.");
    assert_eq!(world.model.requests().len(), 2);
    // The response of this message can be had again, without the id that its client knows.
    let place = answer.header("x-workflow-run-id").to_owned();
    let again = world.get(&format!("/ai/chat/{place}/stream?startIndex=2")).await;
    assert!(find(&chunks(&again), "start").get("messageId").is_none());
}

#[tokio::test]
async fn a_denied_call_is_skipped_and_a_reason_is_the_models_to_read() {
    let world = approving_world().await;
    let (body, _) = paused(&world, json!({"approved": false})).await;
    let sent = chunks(&ask(&world, &body).await);
    find(&sent, "tool-output-denied");

    let world = approving_world().await;
    let (body, _) = paused(&world, json!({"approved": false, "reason": "Use ink."})).await;
    chunks(&ask(&world, &body).await);
    let transcript = world.model.requests().pop().unwrap().transcript();
    assert!(transcript.contains("Use ink."), "{transcript}");
}

#[tokio::test]
async fn nobody_approves_for_another_user_and_no_text_is_consent() {
    let world = approving_world().await;
    let (body, _) = paused(&world, json!({"approved": true})).await;
    let mut foreign = body.clone();
    foreign["messages"][1]["metadata"]["run"] = json!(format!("run_{}", "0".repeat(32)));
    let refused = ask(&world, &foreign).await;
    assert_eq!(refused.status, 404);
    assert!(refused.header("content-type").starts_with("text/plain"), "a bare sentence");
    assert!(!refused.text.starts_with('{'), "{}", refused.text);

    let mut undecided = body.clone();
    undecided["messages"][1]["parts"][2]["state"] = json!("approval-requested");
    assert_eq!(ask(&world, &undecided).await.status, 400);
    let mut garbled = body;
    garbled["messages"][1]["parts"][2]["approval"]["id"] = json!("t9.c9");
    assert_eq!(ask(&world, &garbled).await.status, 404);
    assert_eq!(world.model.requests().len(), 1);
}

#[tokio::test]
async fn a_question_to_the_user_is_text_and_the_next_message_answers_it() {
    let world = World::start_with(|options: &mut Options, _| {
        let clarify = json!({"clarify": true, "timeout": 0}).to_string();
        options.vars.push(("DJINN_PEOPLE__REQUESTS", clarify));
    })
    .await;
    let question = json!({"questions": ["Which year?"]});
    let rule = world.model.on("How much?").call("ask_user", question);
    rule.then().reply("Nine.");
    let first = ask(&world, &json!({"id": "c3", "messages": [user("m1", "How much?")]})).await;
    assert!(text(&chunks(&first)).contains("Which year?"));
    let messages = json!([user("m1", "How much?"), user("m2", "2024")]);
    let next = ask(&world, &json!({"id": "c3", "messages": messages})).await;
    let sent = chunks(&next);
    assert_eq!(text(&sent), "Nine.");
    let start = find(&sent, "start")["messageId"].as_str().unwrap();
    let run = first.header("djinn-run-id");
    assert!(start.starts_with(run) && start != run, "another message of the same run: {start}");
    assert_eq!(next.header("djinn-run-id"), run);
}
