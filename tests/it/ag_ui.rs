//! AG-UI: what its clients receive, and what Djinn makes of their messages and responses.

use reqwest::Method;
use serde_json::{Value, json};

use crate::human_requests::APPROVAL;
use crate::world::{Answer, Options, SALES, World};

const PATH: &str = "/agui";

async fn ask(world: &World, body: &Value) -> Answer {
    let request = world.client.request(Method::POST, PATH);
    let request = request.header("content-type", "application/json");
    Answer::of(request.body(body.to_string()).send().await.unwrap()).await
}

fn body(thread: &str, request: &str, messages: &Value) -> Value {
    json!({
        "threadId": thread, "runId": request, "messages": messages, "state": {"own": 1}, "tools": [], "context": [],
        "forwardedProps": {}, "protocolVersion": "1.0",
    })
}

fn user(text: &str) -> Value {
    json!({"id": format!("m-{}", text.len()), "role": "user", "content": text})
}

/// The events of a response that ended.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.header("content-type").starts_with("text/event-stream"));
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data:"));
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).unwrap()).collect();
    assert_eq!(events[0]["type"], "RUN_STARTED");
    let last = events.last().unwrap()["type"].as_str().unwrap();
    assert!(["RUN_FINISHED", "RUN_ERROR"].contains(&last), "{}", answer.text);
    events
}

fn text(events: &[Value]) -> String {
    let deltas = events.iter().filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT");
    deltas.map(|event| event["delta"].as_str().unwrap()).collect()
}

fn find<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    let found = events.iter().find(|event| event["type"] == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {events:?}"))
}

fn interrupts(events: &[Value]) -> Vec<Value> {
    let outcome = &events.last().unwrap()["outcome"];
    assert_eq!(outcome["type"], "interrupt", "{outcome}");
    outcome["interrupts"].as_array().unwrap().clone()
}

#[tokio::test]
async fn an_answer_has_its_text_its_calls_and_its_files_and_its_thread_is_a_session() {
    let world = World::start().await;
    world.upload("thread7", "sales.csv", SALES).await;
    let note = json!({"command": "upload", "filename": "note.md", "content": "9"});
    let rule = world.model.on("Which region grew?").say("I note it.").call("file_tool", note);
    rule.then().reason("North is up.").reply("North grew.");
    let mut request = body("thread7", "r1", &json!([user("Which region grew?")]));
    request["tools"] = json!([{"name": "paint", "description": "", "parameters": {}}]);
    request["context"] = json!([{"description": "The page", "value": "Sales of 2024"}]);
    request["forwardedProps"] = json!({"theme": "dark", "djinn": {"mode": "react"}});
    let answer = ask(&world, &request).await;
    let sent = events(&answer);
    assert_eq!(text(&sent), "I note it.North grew.");
    assert_eq!(find(&sent, "REASONING_MESSAGE_CONTENT")["delta"], "North is up.");
    let call = find(&sent, "TOOL_CALL_START");
    assert_eq!(call["toolCallName"], "file_tool");
    assert_eq!(find(&sent, "TOOL_CALL_RESULT")["toolCallId"], call["toolCallId"]);
    let file = find(&sent, "ACTIVITY_SNAPSHOT");
    assert_eq!(file["activityType"], "FILE");
    let opened = world.client.follow(file["content"]["url"].as_str().unwrap()).await;
    assert_eq!((opened.status, opened.text.as_str()), (200, "9"));
    let run = answer.header("djinn-run-id");
    let state = &find(&sent, "STATE_SNAPSHOT")["snapshot"];
    assert_eq!((&state["own"], &state["djinn"]["run"]), (&json!(1), &json!(run)));
    let started = find(&sent, "RUN_STARTED");
    assert_eq!((&started["threadId"], &started["runId"]), (&json!("thread7"), &json!("r1")));
    assert_eq!(answer.header("djinn-ignored"), "tools");
    assert_eq!(sent.last().unwrap()["result"]["status"], "finished");
    assert!(sent.iter().all(|event| event["type"] != "MESSAGES_SNAPSHOT"), "a new run");
    let request = world.model.requests().pop().unwrap();
    assert!(request.system().contains("The page: Sales of 2024"), "{}", request.system());

    // The client sends its whole history; the session has its own.
    world.model.on("And the second?").reply("South.");
    let messages = json!([
        user("Which region grew?"), {"id": "a1", "role": "assistant", "content": "Invented."}, user("And the second?"),
    ]);
    let next = ask(&world, &body("thread7", "r2", &messages)).await;
    assert_eq!(text(&events(&next)), "South.");
    let transcript = world.model.requests().pop().unwrap().transcript();
    assert!(
        transcript.contains("North grew.") && !transcript.contains("Invented."),
        "{transcript}"
    );
}

#[tokio::test]
async fn a_repeated_request_joins_its_run_and_shows_its_messages_anew() {
    let world = World::start().await;
    world.model.on("How far?").reply("Three miles.").then().reply("Four miles.");
    let first = ask(&world, &body("c1", "r1", &json!([user("How far?")]))).await;
    let run = first.header("djinn-run-id").to_owned();
    let written = find(&events(&first), "TEXT_MESSAGE_START")["messageId"].clone();
    let messages =
        json!([user("How far?"), {"id": written, "role": "assistant", "content": "Thr"}]);
    let again = ask(&world, &body("c1", "r1", &messages)).await;
    assert_eq!(again.header("djinn-run-id"), run);
    let sent = events(&again);
    let snapshot = json!([user("How far?"), {"id": written, "role": "assistant"}]);
    assert_eq!((&sent[1]["type"], &sent[1]["messages"]), (&json!("MESSAGES_SNAPSHOT"), &snapshot));
    assert_eq!(text(&sent), "Three miles.");
    // Another request is another run, also with a name that ours cannot be.
    let other = ask(&world, &body("c1", "r2/ä", &json!([user("How far?")]))).await;
    assert_eq!(text(&events(&other)), "Four miles.");
    assert_eq!(events(&other)[0]["runId"], "r2/ä");
    assert_eq!(world.model.requests().len(), 2);
}

#[tokio::test]
async fn a_failed_model_is_an_error_of_the_run() {
    let world = World::start().await;
    world.model.on("Why?").status(401);
    let sent = events(&ask(&world, &body("c1", "r1", &json!([user("Why?")]))).await);
    let error = sent.last().unwrap();
    assert_eq!(error["type"], "RUN_ERROR");
    assert!(error["message"].as_str().unwrap().len() > 10, "{error}");
}

#[tokio::test]
async fn files_come_with_their_bytes_and_no_address_is_fetched() {
    let world = World::start().await;
    world.model.on("What is it?").reply("A list.");
    let part = |source: Value| json!({"type": "document", "source": source});
    let messages = |part: Value| {
        let text = json!({"type": "text", "text": "What is it?"});
        json!([{"id": "m1", "role": "user", "content": [text, part]}])
    };
    let data = part(json!({"type": "data", "value": "YSxi", "mimeType": "text/csv"}));
    let answer = ask(&world, &body("c1", "r1", &messages(data))).await;
    assert_eq!(text(&events(&answer)), "A list.");
    let files = world.get("/sessions/c1/files").await.json();
    assert_eq!(files["files"][0]["name"], "attachment-1.csv");
    let address = part(json!({"type": "url", "value": "http://169.254.169.254/a"}));
    let refused = ask(&world, &body("c1", "r2", &messages(address))).await;
    assert_eq!(refused.status, 400);
    assert!(refused.header("content-type").starts_with("text/plain"), "a bare sentence");
    assert_eq!(refused.header("djinn-error"), "invalid_field messages[0].content[1].source");
}

async fn approving_world() -> World {
    World::start_with(|options: &mut Options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
    })
    .await
}

/// The interrupts of a run that waits for three calls, with the messages of the client.
async fn paused(world: &World) -> (Vec<Value>, Value) {
    let note = |name: &str| json!({"command": "upload", "filename": name, "content": "9"});
    let calls = ["a.md", "b.md", "c.md"].map(|name| ("file_tool", note(name)));
    let rule = world.model.on("Note it.").say("I note it.").calls(calls);
    rule.then().reply("So be it.");
    let answer = ask(world, &body("c2", "r1", &json!([user("Note it.")]))).await;
    let sent = events(&answer);
    let run = answer.header("djinn-run-id");
    let id = find(&sent, "TEXT_MESSAGE_START")["messageId"].clone();
    let starts = sent.iter().filter(|event| event["type"] == "TOOL_CALL_START");
    let calls: Vec<Value> = starts.map(|event| event["toolCallId"].clone()).collect();
    let open = interrupts(&sent);
    let names: Vec<&Value> = open.iter().map(|interrupt| &interrupt["toolCallId"]).collect();
    assert_eq!(names, calls.iter().collect::<Vec<_>>());
    assert!(open[0]["id"].as_str().unwrap().starts_with(&format!("{run}:")));
    assert!(open[0]["responseSchema"]["properties"]["arguments"]["default"].is_object());
    let message = json!({"id": id, "role": "assistant", "content": "I note it."});
    (open, json!([user("Note it."), message]))
}

fn response(interrupt: &Value, payload: &Value) -> Value {
    json!({"interruptId": interrupt["id"], "status": "resolved", "payload": payload})
}

fn resume(request: &str, messages: &Value, responses: &[Value]) -> Value {
    let mut body = body("c2", request, messages);
    body["resume"] = json!(responses);
    body
}

#[tokio::test]
async fn responses_change_skip_and_answer_calls_and_the_others_stay_pending() {
    let world = approving_world().await;
    let (open, messages) = paused(&world).await;
    let changed = json!({"command": "upload", "filename": "a.md", "content": "8"});
    let partly = [
        response(&open[0], &json!({"answer": "modify", "arguments": changed, "comment": "Less."})),
        json!({"interruptId": open[1]["id"], "status": "cancelled"}),
    ];
    let sent = events(&ask(&world, &resume("r2", &messages, &partly)).await);
    assert_eq!(sent[0]["runId"], "r2");
    let left = interrupts(&sent);
    assert_eq!((left.len(), &left[0]["toolCallId"]), (1, &open[2]["toolCallId"]));

    let rest = [response(&left[0], &json!({"answer": "Use ink."}))];
    let request = resume("r3", &messages, &rest);
    let answer = ask(&world, &request).await;
    let sent = events(&answer);
    assert_eq!(text(&sent), "So be it.");
    assert_eq!(sent.last().unwrap()["result"]["status"], "finished");
    let transcript = world.model.requests().pop().unwrap().transcript();
    assert!(transcript.contains("Use ink."), "{transcript}");
    let files = world.get("/sessions/c2/files").await.json();
    let names: Vec<_> =
        files["files"].as_array().unwrap().iter().map(|file| &file["name"]).collect();
    assert_eq!(names, ["a.md"]);
    let content = sent.iter().find(|event| event["activityType"] == "FILE");
    let url = content.map(|file| file["content"]["url"].as_str().unwrap().to_owned());
    assert_eq!(world.client.follow(&url.unwrap()).await.text, "8");

    // The same request again has no further effect.
    assert_eq!(text(&events(&ask(&world, &request).await)), "So be it.");
    assert_eq!(world.model.requests().len(), 2);
}

#[tokio::test]
async fn a_response_that_is_no_longer_awaited_does_not_hide_a_new_question() {
    let world = approving_world().await;
    let (open, mut messages) = paused(&world).await;
    let all: Vec<Value> =
        open.iter().map(|interrupt| response(interrupt, &json!({"answer": "confirm"}))).collect();
    messages.as_array_mut().unwrap().push(user("And now?"));
    // While the run waits, the question would be lost.
    let refused = ask(&world, &resume("r2", &messages, &all)).await;
    assert_eq!(refused.header("djinn-error"), "invalid_field messages");
    let stop = [response(&open[0], &json!({"answer": "stop"}))];
    let last = messages.as_array_mut().unwrap().pop();
    let stopped = events(&ask(&world, &resume("r3", &messages, &stop)).await);
    assert_eq!(stopped.last().unwrap()["result"]["status"], "stopped");
    messages.as_array_mut().unwrap().extend(last);
    let next = ask(&world, &resume("r4", &messages, &all)).await;
    assert_eq!(text(&events(&next)), "So be it.");
    assert!(!open[0]["id"].as_str().unwrap().starts_with(next.header("djinn-run-id")), "a new run");
}

#[tokio::test]
async fn an_interrupt_that_is_not_the_callers_does_not_exist() {
    let world = approving_world().await;
    let (open, messages) = paused(&world).await;
    let id = open[0]["id"].as_str().unwrap();
    let (run, _) = id.split_once(':').unwrap();
    let foreign = format!("run_{}", "0".repeat(32));
    let confirm = json!({"answer": "confirm"});
    for bad in [
        format!("{run}:99:t1.c1"),
        format!("{run}:1:t9.c9"),
        format!("{run}:1:confirm"),
        format!("{foreign}:1:t1.c1"),
        "t1.c1".to_owned(),
    ] {
        let entry = json!({"interruptId": bad, "status": "resolved", "payload": confirm});
        let refused = ask(&world, &resume("r2", &messages, &[entry])).await;
        assert_eq!(refused.status, 404, "{bad}: {}", refused.text);
        assert_eq!(refused.header("djinn-error"), "request_not_found resume[0].interruptId");
    }
    // An interrupt of another thread, and arguments that the tool does not know.
    let mut other = resume("r2", &messages, &[response(&open[0], &confirm)]);
    other["threadId"] = json!("c3");
    assert_eq!(ask(&world, &other).await.status, 404);
    let wrong = json!({"answer": "modify", "arguments": {"colour": "red"}});
    let refused = ask(&world, &resume("r2", &messages, &[response(&open[0], &wrong)])).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert_eq!(refused.header("djinn-error"), "invalid_field resume[0].payload.arguments");
    assert_eq!(world.model.requests().len(), 1);
    assert_eq!(world.client.open_requests(run).await.len(), 3);
}

#[tokio::test]
async fn a_question_to_the_user_is_an_interrupt_whose_answer_is_words() {
    let world = World::start_with(|options: &mut Options, _| {
        let clarify = json!({"clarify": true, "timeout": 0}).to_string();
        options.vars.push(("DJINN_PEOPLE__REQUESTS", clarify));
    })
    .await;
    let question = json!({"questions": ["Which year?"]});
    let rule = world.model.on("How much?").call("ask_user", question);
    rule.then().reply("Nine.");
    let messages = json!([user("How much?")]);
    let sent = events(&ask(&world, &body("c2", "r1", &messages)).await);
    let open = interrupts(&sent);
    assert_eq!(open[0]["reason"], "input_required");
    assert!(open[0]["message"].as_str().unwrap().contains("Which year?"));
    let answer = [response(&open[0], &json!({"answer": "2024"}))];
    let sent = events(&ask(&world, &resume("r2", &messages, &answer)).await);
    assert_eq!(text(&sent), "Nine.");
}
