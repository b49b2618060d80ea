//! Djinn as an MCP server: the tools that other models call, and the decisions that they cannot make.

use reqwest::Method;
use serde_json::{Value, json};

use crate::human_requests::APPROVAL;
use crate::keys::{keyed, let_in};
use crate::world::{
    Answer, COMPARE, Door, Issuer, Options, Protocol, Question, SALES, SigningKey, World,
    script_plan,
};

const PATH: &str = "/mcp";
const STREAMS: &str = "application/json, text/event-stream";

async fn send(world: &World, message: &Value) -> Answer {
    let request = world.client.request(Method::POST, PATH).header("accept", STREAMS);
    Answer::of(request.json(message).send().await.unwrap()).await
}

/// The messages of a response: one, or those of a stream.
fn messages(answer: &Answer) -> Vec<Value> {
    if answer.header("content-type").starts_with("application/json") {
        return vec![answer.json()];
    }
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// Calls a tool, and returns its result after all notifications.
async fn call(world: &World, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let message = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params});
    let answer = send(world, &message).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let mut last = messages(&answer).pop().unwrap();
    assert_eq!(last["id"], "a", "{}", answer.text);
    last["result"].take()
}

fn text(result: &Value) -> String {
    let content = result["content"].as_array().unwrap().iter();
    let texts: Vec<&str> = content.filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

fn code(result: &Value) -> &str {
    assert_eq!(result["isError"], true, "{result}");
    result["_meta"]["djinn/error"]["code"].as_str().unwrap()
}

#[tokio::test]
async fn client_of_each_revision_finds_the_tools() {
    let world = World::start().await;
    let initialize = |version: &str| {
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
        }})
    };
    for (wanted, given) in
        [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("2024-11-05", "2025-11-25")]
    {
        let answer = send(&world, &initialize(wanted)).await;
        let result = &answer.json()["result"];
        assert_eq!((answer.status, &result["protocolVersion"]), (200, &json!(given)));
        assert!(result.get("resultType").is_none() && result["instructions"].is_string());
        assert!(answer.headers.get("mcp-session-id").is_none());
    }
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let silent = send(&world, &initialized).await;
    assert_eq!((silent.status, silent.text.as_str()), (202, ""));
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let tools = send(&world, &list).await.json()["result"]["tools"].take();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["ask", "look", "say", "stop"]);
    let modes = &tools[0]["inputSchema"]["properties"]["mode"]["enum"];
    assert!(modes.as_array().unwrap().contains(&json!("plan_solve")), "{modes}");

    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let modern = |method: &str| {
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}});
        let request = world.client.request(Method::POST, PATH);
        let request = request.header("mcp-protocol-version", "2026-07-28");
        request.header("mcp-method", method).json(&message).send()
    };
    let discovered = Answer::of(modern("server/discover").await.unwrap()).await.json();
    let result = &discovered["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    let listed = Answer::of(modern("tools/list").await.unwrap()).await.json();
    assert_eq!(
        (&listed["result"]["tools"], &listed["result"]["cacheScope"]),
        (&tools, &json!("private"))
    );
    assert!(listed["result"]["ttlMs"].is_u64());
    for method in [Method::GET, Method::DELETE] {
        let refused = Answer::of(world.client.request(method, PATH).send().await.unwrap()).await;
        assert_eq!(refused.status, 405);
    }
}

#[tokio::test]
async fn ask_reports_its_work_and_returns_the_answer_with_its_files() {
    let world = World::start().await;
    world.upload("s1", "sales.csv", SALES).await;
    let note = json!({"command": "upload", "filename": "note.md", "content": "9"});
    let rule = world.model.on("Which region grew?").say("I note it.").call("file_tool", note);
    rule.then().reply("North grew.");
    let params = json!({
        "name": "ask", "arguments": {"question": "Which region grew?", "session": "s1"},
        "_meta": {"progressToken": 7},
    });
    let message = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params});
    let answer = send(&world, &message).await;
    let mut messages = messages(&answer);
    let result = messages.pop().unwrap()["result"].take();
    let lines: Vec<_> = messages.iter().map(|message| &message["params"]).collect();
    assert!(messages.iter().all(|message| message["method"] == "notifications/progress"));
    assert!(lines[0]["message"].as_str().unwrap().starts_with("› file_tool"), "{lines:?}");
    assert_eq!((&lines[0]["progressToken"], &lines[0]["progress"]), (&json!(7), &json!(1)));
    assert_eq!((text(&result).as_str(), &result["isError"]), ("North grew.", &json!(false)));
    let state = &result["structuredContent"];
    assert_eq!((&state["status"], &state["answer"]), (&json!("finished"), &json!("North grew.")));
    assert_eq!(state["run"], answer.header("djinn-run-id"));
    let link = &result["content"][1];
    assert_eq!((&link["type"], &link["name"]), (&json!("resource_link"), &json!("note.md")));
    let opened = world.client.follow(link["uri"].as_str().unwrap()).await;
    assert_eq!((opened.status, opened.text.as_str()), (200, "9"));

    // Looking again costs no work, and the next question of the session knows the first.
    let again = call(&world, "look", json!({"run": state["run"]})).await;
    assert_eq!(again["structuredContent"]["answer"], "North grew.");
    world.model.on("And the second?").reply("South.");
    let next = json!({"question": "And the second?", "session": state["session"]});
    assert_eq!(text(&call(&world, "ask", next).await), "South.");
    assert!(world.model.requests().pop().unwrap().transcript().contains("North grew."));
}

#[tokio::test]
async fn run_that_takes_longer_is_looked_at_sent_a_message_and_stopped() {
    let world = World::start().await;
    world.model.on("How long?").reply("A whole day.").hang_after(1);
    let asked = call(&world, "ask", json!({"question": "How long?", "wait_s": 0})).await;
    let state = &asked["structuredContent"];
    assert_eq!((&state["status"], &asked["isError"]), (&json!("running"), &json!(false)));
    assert!(text(&asked).contains("`look`"), "{asked}");
    let run = state["run"].as_str().unwrap();
    let said = call(&world, "say", json!({"run": run, "text": "Hurry."})).await;
    assert_eq!(said["structuredContent"]["run"], *run);
    let stopped = call(&world, "stop", json!({"run": run})).await;
    assert_eq!(stopped["structuredContent"]["status"], "stopped");
    let looked = call(&world, "look", json!({"run": run})).await;
    assert_eq!(looked["structuredContent"]["status"], "stopped");
    assert_eq!(
        code(&call(&world, "say", json!({"run": run, "text": "Hurry."})).await),
        "run_ended"
    );
}

async fn approving_world() -> World {
    World::start_with(|options: &mut Options, _| {
        options.vars.push(("DJINN_PEOPLE__REQUESTS", APPROVAL.to_owned()));
    })
    .await
}

#[tokio::test]
async fn model_cannot_approve_a_call_in_any_way_and_a_human_can() {
    let world = approving_world().await;
    let note = json!({"command": "upload", "filename": "note.md", "content": "9"});
    let rule = world.model.on("Note it.").say("I note it.").call("file_tool", note);
    rule.then().reply("So be it.");
    let asked = call(&world, "ask", json!({"question": "Note it.", "session": "s1"})).await;
    let state = &asked["structuredContent"];
    assert_eq!(state["status"], "paused", "{asked}");
    assert_eq!(state["requests"][0]["may_say"], false);
    assert!(!text(&asked).contains("`say`"), "{asked}");
    let run = state["run"].as_str().unwrap();
    for words in
        ["confirm", "continue", "yes", "同意", "modify {\"content\": \"8\"}", "skip", "stop"]
    {
        let said = call(&world, "say", json!({"run": run, "text": words})).await;
        assert_eq!(code(&said), "session_busy", "{words}");
        let asked = call(&world, "ask", json!({"question": words, "session": "s1"})).await;
        assert_eq!(code(&asked), "session_busy", "{words}");
        // A model is told what it can call, and not the word `continue` of people.
        assert!(text(&asked).contains("`look`") && text(&asked).contains(run), "{asked}");
        assert!(!text(&asked).contains("continue") && !text(&asked).contains("继续"), "{asked}");
        assert_eq!(asked["_meta"]["djinn/error"]["run"], *run, "{words}");
    }
    assert_eq!(world.client.open_requests(run).await.len(), 1);
    assert_eq!(world.model.requests().len(), 1);

    let confirmed = world.client.respond(run, "t1.c1", &json!({"response": "confirm"})).await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.text);
    let looked = call(&world, "look", json!({"run": run})).await;
    assert_eq!(looked["structuredContent"]["answer"], "So be it.", "{looked}");
}

#[tokio::test]
async fn model_answers_a_question_in_words_that_are_no_command() {
    let world = World::start_with(|options: &mut Options, _| {
        let clarify = json!({"clarify": true, "timeout": 0}).to_string();
        options.vars.push(("DJINN_PEOPLE__REQUESTS", clarify));
    })
    .await;
    let question = json!({"questions": ["Which word?"]});
    world.model.on("How much?").call("ask_user", question).then().reply("Nine.");
    let asked = call(&world, "ask", json!({"question": "How much?", "session": "s1"})).await;
    let state = &asked["structuredContent"];
    assert_eq!(
        (&state["status"], &state["requests"][0]["may_say"]),
        (&json!("paused"), &json!(true))
    );
    assert!(text(&asked).contains("Which word?") && text(&asked).contains("`say`"), "{asked}");
    let run = state["run"].as_str().unwrap();
    // A question of the client is another question, and never a response.
    let other = call(&world, "ask", json!({"question": "2024", "session": "s1"})).await;
    assert_eq!(code(&other), "session_busy");
    let said = call(&world, "say", json!({"run": run, "text": "stop"})).await;
    assert_eq!(said["isError"], false, "{said}");
    let looked = call(&world, "look", json!({"run": run})).await;
    assert_eq!(looked["structuredContent"]["answer"], "Nine.", "{looked}");
    assert!(world.model.requests().pop().unwrap().transcript().contains("stop"));
    let audit = world.client.get(&format!("/runs/{run}/audit")).await.text;
    let answered = audit.lines().find(|line| line.contains("human.resolved")).unwrap();
    let detail = &serde_json::from_str::<Value>(answered).unwrap()["detail"];
    assert_eq!((&detail["by"], &detail["via"]), (&json!("you"), &json!("mcp")));
}

#[tokio::test]
async fn look_without_a_wait_returns_the_end_of_a_plan_with_all_its_tasks() {
    let world = World::start().await;
    script_plan(&world.model);
    world.upload("s1", "sales.csv", SALES).await;
    let stream = world.ask(Protocol::Native, &Question::of(COMPARE, "s1").deep()).await;
    let (run, frames) = (stream.run(), stream.rest().await);
    let ended = frames.last().unwrap().json();
    let looked = call(&world, "look", json!({"run": run, "wait_s": 0})).await;
    let state = &looked["structuredContent"];
    assert_eq!((&state["status"], &state["answer"]), (&json!("finished"), &ended["answer"]));
    assert_eq!(state["files"].as_array().unwrap().len(), ended["files"].as_array().unwrap().len());
}

#[tokio::test]
async fn cancelled_call_ends_its_wait_and_leaves_its_run_at_work() {
    let world = World::start().await;
    let gate = world.model.on("How long?").reply("A whole day.").gate(1);
    let ask = json!({"name": "ask", "arguments": {"question": "How long?", "wait_s": 600}});
    let cancel = async |id: Value| {
        let params = json!({"requestId": id, "reason": "Too slow."});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        let answer = send(&world, &message).await;
        assert_eq!((answer.status, answer.text.as_str()), (202, ""));
    };
    let message = json!({"jsonrpc": "2.0", "id": "call-7", "method": "tools/call", "params": ask});
    let request = world.client.request(Method::POST, PATH).header("accept", STREAMS);
    let waiting = request.json(&message).send().await.unwrap();
    gate.wait_until_reached().await;
    cancel(json!("call-8")).await;
    cancel(json!("call-7")).await;
    let answer = Answer::of(waiting).await;
    let result = messages(&answer).pop().unwrap()["result"].take();
    assert_eq!(result["structuredContent"]["status"], "running", "{result}");
    gate.open();
    let run = json!({"run": result["structuredContent"]["run"]});
    assert_eq!(call(&world, "look", run).await["structuredContent"]["answer"], "A whole day.");
}

#[tokio::test]
async fn client_without_events_receives_one_document() {
    let world = World::start().await;
    world.model.on("How far?").reply("Three miles.");
    let params = json!({"name": "ask", "arguments": {"question": "How far?"}, "_meta": {"progressToken": 1}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = world.client.post(PATH, &message).await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.json()["result"]["structuredContent"]["answer"], "Three miles.");
}

#[tokio::test]
async fn failed_run_is_an_error_of_the_tool_with_its_sentence() {
    let world = World::start().await;
    world.model.on("How bad?").status(401).always();
    let asked = call(&world, "ask", json!({"question": "How bad?"})).await;
    let state = &asked["structuredContent"];
    assert_eq!((&asked["isError"], &state["status"]), (&json!(true), &json!("failed")), "{asked}");
    assert!(text(&asked).contains(state["failure"].as_str().unwrap()), "{asked}");
}

#[tokio::test]
async fn deployment_with_tokens_names_their_issuer_and_another_says_nothing() {
    let model = djinn_scripted::ScriptedModel::start().await.unwrap();
    let key = SigningKey::ec("e1");
    let issuer = Issuer::start(&[&key]).await;
    let mut door = Door::open(
        &model,
        |_| {},
        |parts| {
            issuer.lets_in()(parts);
            parts.settings.public_url = Some("https://djinn.example".to_owned());
        },
    );
    let client = door.listen().await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let refused = client.post(PATH, &ping).await;
    assert_eq!(refused.status, 401);
    assert_eq!(refused.json()["error"]["data"]["code"], "credentials_missing");
    let challenge = refused.header("www-authenticate");
    let (_, url) = challenge.split_once("resource_metadata=\"").unwrap();
    let path = url.trim_end_matches('"').trim_start_matches("https://djinn.example");
    let resource = client.get(path).await.json();
    assert_eq!(resource["resource"], "https://djinn.example/mcp");
    assert_eq!(resource["authorization_servers"], json!([issuer.claims("a", "b")["iss"]]));
    let token = key.token(&issuer.claims("acme", "anna"));
    assert_eq!(client.clone().bearing(&token).post(PATH, &ping).await.status, 200);

    let (list, [anna]) = keyed([("acme", "anna")]);
    let mut door = Door::open(&model, |_| {}, let_in(list));
    let client = door.listen().await;
    let refused = client.post(PATH, &ping).await;
    assert!(!refused.header("www-authenticate").contains("resource_metadata"));
    assert_eq!(client.bearing(&anna).post(PATH, &ping).await.status, 200);
}
