//! Hand-overs over HTTP: an agent's last act is a call that lets another agent answer in its place.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agents::{add_agent, at, path_of, start};
use crate::human_requests::ending;
use crate::world::{Frame, Protocol, Question, World};

const QUESTION: &str = "Which region grew?";

/// The keys of a mode that can hand over.
const DESK: &str = "entry: true\nagent_type: 9\ntools: [file_tool]\nhands_over: [analyst]\n";

/// The keys of the agent that takes over.
const ANALYST: &str = "tools: [file_tool]\nparameters:\n  type: object\n  properties:\n    task: {type: string}\n    \
                       region: {type: string}\n  required: [task, region]\n  additionalProperties: false\n";

const ANSWER: &str = "East grew most, by 4 %.";

async fn start_desk(folder: &TempDir) -> World {
    add_agent(folder, "desk", DESK, "You receive questions.");
    add_agent(folder, "analyst", ANALYST, "You analyse {{ region }}: {{ task }}");
    start(folder).await
}

fn question(protocol: Protocol) -> (&'static str, Value) {
    let path = if protocol == Protocol::Native { "/runs" } else { "/AutoAgent" };
    let body = match protocol {
        Protocol::Native => json!({"question": QUESTION, "mode": "desk"}),
        Protocol::Raw | Protocol::Ui => {
            json!({"query": QUESTION, "sessionId": "s1", "requestId": "r1", "agentType": 9, "isStream": true})
        }
    };
    (path, body)
}

async fn ask(world: &World, protocol: Protocol) -> (String, Vec<Frame>) {
    let (path, body) = question(protocol);
    let request = world.request(reqwest::Method::POST, path).json(&body);
    let stream = world.ask_with(request).await;
    (stream.run(), stream.rest().await)
}

#[tokio::test]
async fn next_agent_receives_the_question_and_its_text_is_the_answer_in_every_protocol() {
    for protocol in [Protocol::Native, Protocol::Raw] {
        let folder = TempDir::new().unwrap();
        let world = start_desk(&folder).await;
        let hand_over = json!({"region": "East", "task": "Something else."});
        at(&world.model, "")
            .say("I ask the analyst.")
            .call("analyst", hand_over)
            .then()
            .reply(ANSWER);
        let (run, frames) = ask(&world, protocol).await;
        let seen: String = frames.iter().map(|frame| frame.json().to_string()).collect();
        assert!(!seen.contains("I ask the analyst"), "a short text before a hand-over: {seen}");
        let requests = world.model.requests();
        let [first, second] = requests.as_slice() else { panic!("{} calls", requests.len()) };
        let offer = first.tools().iter().find(|tool| tool.name == "analyst").unwrap().clone();
        assert!(!offer.schema.to_string().contains("task"), "{}", offer.schema);
        let system = second.system();
        assert!(system.starts_with(&format!("You analyse East: {QUESTION}")), "{system}");
        assert!(second.text().contains(QUESTION) && !second.text().contains("Something else"));
        assert!(!second.offers_tool("analyst"), "{}", second.text());
        match protocol {
            Protocol::Native => check_native(&world, &run, &frames).await,
            Protocol::Raw | Protocol::Ui => {
                let last = frames.last().unwrap().raw();
                assert_eq!((&last["result"], &last["finish"]), (&json!(ANSWER), &json!(true)));
                assert_eq!(last["resultMap"]["agentType"], 9);
            }
        }
    }
}

/// What a native client sees, at once and later.
async fn check_native(world: &World, run: &str, frames: &[Frame]) {
    let of = |name: &str| -> Vec<Value> {
        frames.iter().filter(|frame| frame.event() == name).map(Frame::json).collect()
    };
    let changed = &of("agent.changed")[0];
    assert_eq!(
        (&changed["id"], &changed["call"], &changed["agent"], &changed["machine"]),
        (&json!("t1.c1.agent"), &json!("t1.c1"), &json!("analyst"), &json!("react"))
    );
    let messages = of("message.completed");
    let texts: Vec<(&Value, &Value)> =
        messages.iter().map(|message| (&message["message"], &message["text"])).collect();
    assert_eq!(texts, [(&json!("t1"), &json!("")), (&json!("t2"), &json!(ANSWER))]);
    assert_eq!(messages[1]["answer"], true);
    let previews = of("preview");
    assert!(previews.iter().all(|preview| preview["message"] == "t2" && preview["path"].is_null()));
    assert!(of("child.started").is_empty(), "the next agent is no run of its own");
    let ended = frames.last().unwrap().json();
    assert_eq!((&ended["status"], &ended["answer"]), (&json!("finished"), &json!(ANSWER)));
    // Whoever comes later sees the same.
    let later = world.come_back(run, None).await.rest().await;
    assert_eq!(later.last().unwrap().json()["answer"], ANSWER);
}

#[tokio::test]
async fn direct_answer_of_an_agent_that_could_hand_over_is_its_own() {
    let folder = TempDir::new().unwrap();
    let world = start_desk(&folder).await;
    let long = format!("{}East grew most.", "East grew most. ".repeat(30));
    at(&world.model, "").reply(long.as_str());
    let (_, frames) = ask(&world, Protocol::Native).await;
    assert_eq!(frames.last().unwrap().json()["answer"], long);
    assert_eq!(world.model.requests().len(), 1);
    let previews = frames.iter().filter(|frame| frame.event() == "preview").map(Frame::json);
    let first = previews.into_iter().next().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(first.chars().count() >= 200, "withheld until it is clear: {first}");
}

#[tokio::test]
async fn call_that_cannot_hand_over_is_told_to_the_caller_which_goes_on() {
    let folder = TempDir::new().unwrap();
    let world = start_desk(&folder).await;
    at(&world.model, "").call("analyst", json!({})).then().reply("I do not know.");
    let (_, frames) = ask(&world, Protocol::Native).await;
    assert_eq!(frames.last().unwrap().json()["answer"], "I do not know.");
    let result = frames.iter().find(|frame| frame.event() == "call.completed").unwrap().json();
    assert_eq!(result["result"]["reason"], "bad_arguments", "{result}");
    assert!(frames.iter().all(|frame| frame.event() != "agent.changed"));
}

#[tokio::test]
async fn failure_and_stop_of_the_next_agent_are_the_runs() {
    let folder = TempDir::new().unwrap();
    let world = start_desk(&folder).await;
    let hand_over = || json!({"region": "East"});
    at(&world.model, "").call("analyst", hand_over()).then().status(400).always();
    let (_, frames) = ask(&world, Protocol::Native).await;
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["status"], "failed", "{ended}");

    let folder = TempDir::new().unwrap();
    let world = start_desk(&folder).await;
    let rule = at(&world.model, "").call("analyst", hand_over()).then();
    let gate = rule.reply("East grew most.").delta_chars(5).gate(2);
    let (path, body) = question(Protocol::Native);
    let request = world.request(reqwest::Method::POST, path).json(&body);
    let mut stream = world.ask_with(request).await;
    stream.until(|frame| frame.received().is_some_and(|f| f.data.contains("East"))).await;
    gate.wait_until_reached().await;
    assert_eq!(world.stop(&stream.run()).await.status, 202);
    let frames = stream.rest().await;
    let ended = frames.last().unwrap().json();
    assert_eq!(ended["status"], "stopped", "{ended}");
}

#[tokio::test]
async fn what_a_user_was_asked_before_the_hand_over_is_known_to_the_next_agent() {
    let folder = TempDir::new().unwrap();
    add_agent(&folder, "desk", DESK, "You receive questions.");
    add_agent(&folder, "analyst", ANALYST, "You analyse.");
    let path = folder.path().to_str().unwrap().to_owned();
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_CONFIG", path));
        let clarify = r#"{"clarify": true, "timeout": 0}"#;
        options.vars.push(("DJINN_PEOPLE__REQUESTS", clarify.to_owned()));
    })
    .await;
    at(&world.model, "")
        .call("ask_user", json!({"questions": ["Which year?"]}))
        .then()
        .call("analyst", json!({"region": "East"}))
        .then()
        .reply(ANSWER);
    let (run, frames) = ask(&world, Protocol::Native).await;
    assert_eq!(frames.last().unwrap().event(), "run.handed_over");
    assert_eq!(
        world.respond(&run, "t1.c1", &json!({"response": "1986, please."})).await.status,
        200
    );
    let end = ending(&world, &run).await;
    assert_eq!((&end["status"], &end["answer"]), (&json!("finished"), &json!(ANSWER)));
    let last = world.model.requests().pop().unwrap();
    assert!(last.system().starts_with("You analyse."), "{}", last.system());
    assert!(last.text().contains("Which year?") && last.text().contains("1986, please."));
    assert_eq!(path_of(&last).as_deref(), Some(""));
}

#[tokio::test]
async fn modes_that_hand_over_in_a_circle_are_rejected_with_file_and_line() {
    let folder = TempDir::new().unwrap();
    let world = start_desk(&folder).await;
    add_agent(&folder, "analyst", "entry: true\nhands_over:\n  - desk\n", "You analyse.");
    at(&world.model, "").reply(ANSWER).always();
    let frames = world.ask(Protocol::Native, &Question::of(QUESTION, "s1")).await.rest().await;
    let started = frames.iter().find(|frame| frame.event() == "run.started").unwrap().json();
    let warning = started["warnings"][0].as_str().unwrap();
    let says =
        "analyst.md:6: agents hand over to each other in a cycle: analyst -> desk -> analyst";
    assert!(warning.ends_with(says), "{warning}");
    // Neither agent is offered without the other.
    assert!(!world.get("/modes").await.text.contains("analyst"));
}
