//! Plan-Solve over HTTP: a plan, tasks side by side, a plan that changes, a summary.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::world::{
    COMPARE, Frame, NativeState, Protocol, Question, REGIONS, SALES, UiState, World,
    always_hands_over, model_sees, planner, script_plan, shown, step, summary, task, task_of,
};

fn question() -> Question {
    Question::of(COMPARE, "s1").deep()
}

async fn told(protocol: Protocol) -> (World, Vec<Frame>) {
    let world = World::start().await;
    script_plan(&world.model);
    world.upload("s1", "sales.csv", SALES).await;
    let stream = world.ask(protocol, &question()).await;
    assert_eq!(stream.status, 200);
    let frames = stream.rest().await;
    world.model.assert_done();
    (world, frames)
}

/// The lane of a native frame: its task, or nothing for the run itself.
fn lane(frame: &Frame) -> String {
    let json = frame.json();
    let task = if json["type"] == "child.ended" { &json["child"] } else { &json["path"] };
    match (json["type"].as_str(), json["step"].as_str()) {
        (Some("step.changed"), Some(step)) => format!("{step}.1"),
        _ => task.as_str().unwrap_or_default().to_owned(),
    }
}

#[tokio::test]
async fn a_plan_is_worked_on_by_tasks_in_lanes_of_their_own() {
    let (world, frames) = told(Protocol::Native).await;
    let mut lanes: BTreeMap<String, Vec<Frame>> = BTreeMap::new();
    let mut ids = BTreeSet::new();
    let told = frames.iter().filter(|frame| frame.id().is_some() && frame.event() != "preview");
    // A client that comes back is told again what a task did that had not ended.
    let told =
        told.filter(|frame| ids.insert(frame.json()["id"].to_string()) || !always_hands_over());
    // Which of three tasks ends first is chance.
    for frame in told {
        lanes.entry(lane(frame)).or_default().push(frame.clone());
    }
    assert_eq!(lanes.keys().collect::<Vec<_>>(), ["", "s1.1", "s2.1", "s3.1", "s4.1"]);
    let text: String = lanes
        .iter()
        .map(|(lane, frames)| format!("== {lane}\n{}", cursorless(&shown(frames, &world.url))))
        .collect();
    insta::assert_snapshot!(text);
}

/// Which record a frame stands in is chance too.
fn cursorless(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.get(3..).unwrap_or_default())).collect()
}

/// What a client ends up with.
fn folded(protocol: Protocol, frames: &[Frame]) -> (UiState, NativeState) {
    let (mut ui, mut native) = (UiState::default(), NativeState::default());
    for received in frames.iter().filter_map(Frame::received) {
        match protocol {
            Protocol::Native => native.take(received),
            Protocol::Raw if received.data == "heartbeat" => {}
            Protocol::Raw => ui.raw(&serde_json::from_str(&received.data).unwrap()),
            Protocol::Ui => ui.take(received),
        }
    }
    (ui.by_id(), native.by_id())
}

#[tokio::test]
async fn who_comes_afterwards_ends_up_with_what_the_first_client_saw() {
    for protocol in Protocol::ALL {
        let (world, frames) = told(protocol).await;
        let again = world.ask(protocol, &question()).await.rest().await;
        assert_eq!(folded(protocol, &again), folded(protocol, &frames), "{protocol:?}");
    }
}

#[tokio::test]
async fn the_plan_is_kept_as_an_internal_file() {
    let (world, frames) = told(Protocol::Native).await;
    let ending = frames.last().unwrap().json();
    let offered = ending["files"].as_array().unwrap();
    assert!(offered.iter().all(|file| file["name"] != "TODO.md"), "{ending}");
    // Whoever follows hears of the end before all is done that the run owes.
    let (run, _) = frames.last().unwrap().id().unwrap().rsplit_once(':').unwrap();
    world.settled(run).await;
    let kept = world.follow(&format!("{}/v1/file_tool/preview/s1/TODO.md", world.url)).await;
    let plan = "# Regions\n\n\
                - [x] s1 North: write a report on North\n\
                - [x] s2 South: write a report on South\n\
                - [x] s3 East: write a report on East\n\
                - [x] s4 Compare: put the reports side by side\n";
    assert_eq!(kept.text, plan);
}

#[tokio::test]
async fn all_three_tasks_are_at_work_at_once() {
    let world = World::start().await;
    let gates = REGIONS.map(|region| {
        let rule = task(&world.model, &step(region)).reply(format!("{region} grew."));
        rule.gate(1)
    });
    planner(&world.model)
        .say("Three parts.")
        .call("planning", json!({
            "command": "create", "title": "R", "steps": REGIONS.map(step), "depends_on": [[], [], []],
        }))
        .then()
        .say("Done.")
        .call("planning", json!({"command": "finish"}));
    summary(&world.model).reply("All grew.");
    let mut stream = world.ask(Protocol::Native, &question()).await;
    // Each waits inside its reply: none has ended when the last begins.
    for gate in &gates {
        gate.wait_until_reached().await;
    }
    for gate in gates {
        gate.open();
    }
    let mut ended = BTreeSet::new();
    while let Some(frame) = stream.next().await {
        if frame.event() == "child.ended" {
            assert_eq!(frame.json()["status"], "finished");
            ended.insert(frame.json()["child"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(ended, ["s1.1", "s2.1", "s3.1"].map(str::to_owned).into());
    world.model.assert_done();
}

#[tokio::test]
async fn what_the_planner_and_the_tasks_see() {
    let (world, _) = told(Protocol::Native).await;
    let mut requests = world.model.requests();
    requests.sort_by_key(|request| request.header("djinn-call").unwrap_or_default().to_owned());
    // Files stand in the order in which they were written, which is chance.
    let sees = |of: Option<&str>| {
        let of_task: Vec<_> =
            requests.iter().filter(|request| task_of(request) == of).cloned().collect();
        model_sees(&of_task)
    };
    let planner = sees(None);
    for (region, at) in REGIONS.iter().zip(["s1", "s2", "s3"]) {
        let words = format!("## {at}.1: {}", step(region));
        assert!(planner.contains(&words), "{planner}");
        assert!(planner.contains(&format!("- {region}.md (")), "{planner}");
    }
    insta::assert_snapshot!("a_task_sees", sees(Some("s1.1")));
    let compares = sees(Some("s4.1"));
    assert!(compares.contains("North grew; see North.md."), "{compares}");
}

#[tokio::test]
async fn joyagents_clients_get_a_plan_a_group_a_task_and_a_result() {
    let (_, frames) = told(Protocol::Ui).await;
    let data = |frame: &Frame| frame.json()["resultMap"]["eventData"].clone();
    let events: Vec<Value> = frames
        .iter()
        .filter(|frame| frame.received().is_some() && frame.json()["packageType"] == "result")
        .map(data)
        .collect();
    let kind = |event: &Value| event["messageType"].as_str().unwrap().to_owned();
    assert_eq!(kind(&events[0]), "plan_thought");
    let first_plan = events.iter().position(|event| kind(event) == "plan").unwrap();
    let first_task = events.iter().position(|event| kind(event) == "task").unwrap();
    assert!(first_plan < first_task);
    assert_eq!(events[first_plan]["resultMap"]["stages"], json!(REGIONS));
    let last = events.last().unwrap();
    assert_eq!(last["resultMap"]["messageType"], "result");
    assert_eq!(last["resultMap"]["resultMap"]["agentType"], 3);
    assert_eq!(last["resultMap"]["resultMap"]["fileList"][0]["fileName"], "regions.md");
    // What a task says and writes stands in its own group.
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for event in events.iter().filter(|event| kind(event) == "task") {
        let inner = event["resultMap"]["messageType"].as_str().unwrap().to_owned();
        let group = event["taskId"].as_str().unwrap().split_once('.').unwrap().1.to_owned();
        groups.entry(group).or_default().insert(inner);
    }
    for task in ["s1.1", "s2.1", "s3.1", "s4.1"] {
        let kinds: Vec<_> = groups[task].iter().map(String::as_str).collect();
        for wanted in ["task", "tool_thought", "file", "task_summary"] {
            assert!(kinds.contains(&wanted), "{task}: {kinds:?}");
        }
    }
}
