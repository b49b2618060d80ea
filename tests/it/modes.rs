//! Modes over HTTP: agents that users start, with arguments, in every protocol.

use djinn_scripted::ScriptedModel;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{add_agent, at, path_of, start};
use crate::world::{Frame, Protocol, Question, World};

const QUESTION: &str = "Which region grew?";

/// The keys of a mode with an optional argument.
const ANALYST: &str = "entry: true\ntitle: Analyst\nagent_type: 7\ntools: [file_tool]\nparameters:\n  type: object\n  \
                       properties:\n    task: {type: string}\n    region: {type: string, default: all}\n    depth: \
                       {type: integer, maximum: 3}\n  required: [task]\n  additionalProperties: false\n";

async fn start_analyst(folder: &TempDir) -> World {
    add_agent(folder, "analyst", ANALYST, "You analyse {{ region }} on {{ date }}.");
    start(folder).await
}

/// Asks with this body, and returns the frames.
async fn ask(world: &World, body: &Value) -> Vec<Frame> {
    let request = world.request(reqwest::Method::POST, "/runs").json(body);
    world.ask_with(request).await.rest().await
}

/// The first event, which tells of the run's start.
fn started(frames: &[Frame]) -> Value {
    let first = frames.iter().find(|frame| frame.event() == "run.started");
    first.unwrap().json()
}

fn names(list: &Value) -> Vec<String> {
    let modes = list["modes"].as_array().unwrap().iter();
    modes.map(|mode| mode["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn file_with_entry_is_a_mode_at_the_next_question() {
    let folder = TempDir::new().unwrap();
    let world = start(&folder).await;
    let list = world.get("/modes").await.json();
    assert_eq!(names(&list), ["react", "comprehensive", "data_query", "plan_solve", "router"]);
    assert_eq!(
        (&list["modes"][0]["is_default"], &list["modes"][0]["agent_type"]),
        (&json!(true), &json!(5))
    );
    add_agent(&folder, "analyst", ANALYST, "You analyse {{ region }} on {{ date }}.");
    let list = world.get("/modes").await.json();
    assert_eq!(
        names(&list),
        ["react", "analyst", "comprehensive", "data_query", "plan_solve", "router"]
    );
    let analyst = &list["modes"][1];
    assert_eq!((&analyst["title"], &analyst["agent_type"]), (&json!("Analyst"), &json!(7)));
    assert_eq!(analyst["description"], "Knows about analyst.");
    assert_eq!(analyst["parameters"]["properties"]["depth"]["maximum"], 3);

    at(&world.model, "").reply("East grew.");
    let body = json!({"question": QUESTION, "mode": "analyst", "arguments": {"region": "East"}});
    let frames = ask(&world, &body).await;
    assert_eq!(started(&frames)["mode"], "analyst");
    assert_eq!(frames.last().unwrap().json()["answer"], "East grew.");
    let requests = world.model.requests();
    let [request] = requests.as_slice() else { panic!("one call: {}", requests.len()) };
    let system = request.system();
    assert!(system.starts_with("You analyse East on "), "{system}");
    assert!(
        system.contains("is the answer as the user reads it") && !system.contains("your caller"),
        "{system}"
    );
    assert!(
        request.text().contains(QUESTION) && request.text().contains("East"),
        "{}",
        request.text()
    );
    let tools: Vec<&str> = request.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["file_tool"]);
}

#[tokio::test]
async fn repeated_request_finds_its_run_after_its_mode_has_changed_or_gone() {
    let folder = TempDir::new().unwrap();
    let world = start_analyst(&folder).await;
    at(&world.model, "").reply("East grew.");
    let body = json!({"request_id": "r1", "question": QUESTION, "mode": "analyst", "arguments": {"region": "East"}});
    let first = ask(&world, &body).await;
    let run = started(&first)["run"].clone();

    let stricter = ANALYST.replace("default: all", "enum: [West], default: West");
    add_agent(&folder, "analyst", &stricter, "You analyse {{ region }}.");
    let again = ask(&world, &body).await;
    assert_eq!(again.last().unwrap().json(), first.last().unwrap().json());

    std::fs::remove_file(folder.path().join("agents/analyst.md")).unwrap();
    let again = ask(&world, &body).await;
    assert_eq!(
        (&started(&again)["run"], again.last().unwrap().json()),
        (&run, first.last().unwrap().json())
    );
    assert_eq!(world.model.requests().len(), 1);

    // Another request under the same id is none of this run.
    let mut other = body.clone();
    other["arguments"]["region"] = json!("West");
    let response = world.post("/runs", &other).await;
    assert_eq!((response.status, &response.json()["code"]), (400, &json!("unknown_agent")));
    other["mode"] = json!("react");
    other["arguments"] = json!({});
    let response = world.post("/runs", &other).await;
    assert_eq!((response.status, &response.json()["code"]), (409, &json!("request_id_reused")));
}

#[tokio::test]
async fn mode_is_a_tool_only_where_a_file_names_it() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "lead", "tools: [react]\n", "You lead.");
    let world = start_analyst(&folder).await;
    at(&world.model, "").call("lead", json!({"task": "Find it out."})).then().reply("East.");
    at(&world.model, "t1.c1").call("react", json!({"task": QUESTION})).then().reply("East.");
    at(&world.model, "t1.c1.t1.c1").reply("East grew.");
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    assert_eq!(frames.last().unwrap().json()["status"], "finished");
    let requests = world.model.requests();
    let of = |path: &str| requests.iter().find(|r| path_of(r).as_deref() == Some(path)).unwrap();
    let root = of("");
    assert!(!root.offers_tool("react") && !root.offers_tool("analyst") && root.offers_tool("lead"));
    let below = of("t1.c1.t1.c1");
    assert!(
        below.system().starts_with("You are Djinn, an agent that answers"),
        "{}",
        below.system()
    );
    assert!(below.offers_tool("file_tool") && below.offers_tool("lead"));
}

#[tokio::test]
async fn joyagent_selects_a_mode_by_the_number_in_its_file() {
    let folder = TempDir::new().unwrap();
    let world = start_analyst(&folder).await;
    at(&world.model, "").reply("East grew.");
    let body = json!({"query": QUESTION, "sessionId": "s1", "requestId": "r1", "agentType": 7, "isStream": true});
    let stream =
        world.ask_with(world.request(reqwest::Method::POST, "/AutoAgent").json(&body)).await;
    let frames = stream.rest().await;
    let numbers: Vec<Value> = frames
        .iter()
        .filter_map(|frame| frame.raw()["resultMap"].get("agentType").cloned())
        .collect();
    assert!(!numbers.is_empty() && numbers.iter().all(|number| *number == 7), "{numbers:?}");
    let requests = world.model.requests();
    assert!(requests[0].system().starts_with("You analyse all on "), "{}", requests[0].system());
    let unknown = world.post("/AutoAgent", &json!({"query": QUESTION, "agentType": 8})).await;
    assert_eq!((unknown.status, &unknown.json()["field"]), (400, &json!("agentType")));
    let message = unknown.json()["message"].as_str().unwrap().to_owned();
    assert!(
        message
            .contains("5 (ReAct), 7 (Analyst), 1 (Comprehensive), 3 (Plan-Solve) and 4 (Router)"),
        "{message}"
    );
}

#[tokio::test]
async fn arguments_that_a_mode_does_not_take_are_rejected_with_their_field() {
    let folder = TempDir::new().unwrap();
    let world = start_analyst(&folder).await;
    let long = "x".repeat(64 * 1024 + 1);
    let ask = |mode: &str, arguments: Value| json!({"question": QUESTION, "mode": mode, "arguments": arguments});
    for (body, code, field) in [
        (ask("analyst", json!({"region": 7})), "invalid_field", "arguments.region"),
        (ask("analyst", json!({"depth": 4})), "invalid_field", "arguments.depth"),
        (ask("analyst", json!({"regoin": "East"})), "invalid_field", "arguments.regoin"),
        (ask("analyst", json!({"task": "Another?"})), "invalid_field", "arguments.task"),
        (ask("react", json!({"region": "East"})), "invalid_field", "arguments.region"),
        (ask("analyst", json!(["East"])), "invalid_field", "arguments"),
        (ask("analyst", json!({"region": long})), "too_long", "arguments"),
        (json!({"mode": "analyst", "arguments": {}}), "query_missing", "question"),
        (json!({"mode": "analyst", "arguments": {"task": " "}}), "query_missing", "question"),
        (
            json!({"mode": "analyst", "arguments": {"region": "East"}}),
            "invalid_field",
            "arguments.task",
        ),
        (ask("analist", json!({})), "unknown_agent", "mode"),
    ] {
        let answer = world.post("/runs", &body).await;
        let json = answer.json();
        assert_eq!(
            (answer.status, &json["code"], &json["field"]),
            (400, &json!(code), &json!(field)),
            "{json}"
        );
    }
    let near = world.post("/runs", &ask("analist", json!({}))).await.json();
    let message = near["message"].as_str().unwrap();
    assert!(
        message.contains("did you mean `analyst`?") && message.contains("`plan_solve`"),
        "{message}"
    );
    assert_eq!(world.model.requests().len(), 0);
}

#[tokio::test]
async fn argument_task_is_the_question() {
    let folder = TempDir::new().unwrap();
    let world = start_analyst(&folder).await;
    at(&world.model, "").reply("East grew.");
    let body = json!({"mode": "analyst", "arguments": {"task": QUESTION, "depth": 2}});
    let frames = ask(&world, &body).await;
    assert_eq!(started(&frames)["question"], QUESTION);
    assert_eq!(frames.last().unwrap().json()["status"], "finished");
}

#[tokio::test]
async fn mode_of_a_deployment_may_plan() {
    let folder = TempDir::new().unwrap();
    let keys = "entry: true\nmode: plan_solve\ntools: [researcher]\n";
    add_agent(&folder, "survey", keys, "You plan surveys.");
    let world = start(&folder).await;
    let plan = json!({"command": "create", "title": "It", "steps": ["Look: read all"]});
    let planner = at(&world.model, "").say("I plan.").call("planning", plan);
    let planner = planner.then().say("That is all.").call("planning", json!({"command": "finish"}));
    planner.then().reply("In short: East.");
    at(&world.model, "s1.1").reply("East, by a third.");
    let frames = ask(&world, &json!({"question": QUESTION, "mode": "survey"})).await;
    assert_eq!(frames.last().unwrap().json()["answer"], "In short: East.");
    let requests = world.model.requests();
    let of = |path: &str| requests.iter().find(|r| path_of(r).as_deref() == Some(path)).unwrap();
    assert!(of("").system().contains("You plan surveys."), "{}", of("").system());
    let tools: Vec<&str> = of("s1.1").tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(tools, ["researcher"]);
}

/// A mode that must write a file, which ends it.
const CLERK: &str =
    "entry: true\nagent_type: 8\ntools: [file_tool]\ntool_choice: smart\nstop_at: [file_tool]\n";

#[tokio::test]
async fn result_of_a_tool_in_stop_at_is_the_answer_of_a_mode_in_every_protocol() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "clerk", CLERK, "You file.");
    let world = start(&folder).await;
    let file = |name: &str| {
        let content = "region,growth\nEast,4\n";
        json!({"command": "upload", "filename": name, "description": "The growth.", "content": content})
    };
    let write = |model: &ScriptedModel| {
        // A failed call lets the agent go on.
        at(model, "")
            .say("I write it.")
            .call("file_tool", file("../growth.csv"))
            .then()
            .call("file_tool", file("growth.csv"));
    };
    write(&world.model);
    let frames = ask(&world, &json!({"question": QUESTION, "mode": "clerk"})).await;
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["status"], "finished", "{ended}");
    assert!(ended["answer"].as_str().unwrap().contains("growth.csv"), "{ended}");
    assert_eq!(ended["files"][0]["name"], "growth.csv");
    let requests = world.model.requests();
    assert_eq!(requests.len(), 2, "neither a turn nor a closing call follows the result");
    let choices: Vec<_> = requests.iter().map(|request| request.tool_choice()).collect();
    assert_eq!(choices, [Some("required"), Some("required")]);

    write(&world.model);
    let body = json!({"query": QUESTION, "sessionId": "s2", "requestId": "r2", "agentType": 8, "isStream": true});
    let stream = world.ask_with(world.request(reqwest::Method::POST, "/AutoAgent").json(&body));
    let frames = stream.await.rest().await;
    let last = frames.last().unwrap().raw();
    assert_eq!(last["finish"], true, "{last}");
    assert!(last["result"].as_str().unwrap().contains("growth.csv"), "{last}");
    assert_eq!(world.model.requests().len(), 4);
}
