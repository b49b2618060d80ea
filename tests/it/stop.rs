//! Stopping a run: at once, with a proper end, and the session goes on.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_core::id::{ChildId, RunId, TenantId};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals;
use djinn_scripted::ScriptedModel;
use serde_json::json;

use crate::world::{Client, Door, Frame, Protocol, Question, Slow, World, planner};

fn ended(frames: &[Frame], protocol: Protocol) {
    let last = frames.last().unwrap();
    assert!(last.is_final(), "{frames:?}");
    let json = last.json();
    match protocol {
        Protocol::Native => {
            assert_eq!(json["status"], "stopped");
            assert_eq!(json["failure"]["code"], "stopped");
        }
        Protocol::Raw => assert!(json["result"].as_str().unwrap().contains("Stopped.")),
        Protocol::Ui => {
            assert_eq!(json["finished"], true);
            assert!(json["response"].as_str().unwrap().contains("Stopped."));
        }
    }
}

async fn the_next_question_is_answered(client: &Client, model: &ScriptedModel, session: &str) {
    model.on("And now?").reply("Now this.").always();
    let next = Question::new("And now?").session(session).request("next");
    assert_eq!(client.ending(&next).await["answer"], "Now this.");
}

#[tokio::test]
async fn a_stop_in_the_middle_of_a_reply_closes_the_models_connection() {
    for protocol in Protocol::ALL {
        let world = World::start().await;
        let rule = world.model.on("What takes long?").reply("First half, second half.");
        // Nothing opens it: only a stop ends this reply.
        let gate = rule.delta_chars(12).gate(2);
        let question = Question::of("What takes long?", "s1");
        let mut stream = world.ask(protocol, &question).await;
        stream.until(|frame| frame.received().is_some_and(|f| f.data.contains("First"))).await;
        gate.wait_until_reached().await;
        let answer = world.stop(&stream.run()).await;
        assert_eq!(answer.status, 202);
        assert_eq!(answer.json(), json!({"run": stream.run(), "status": "running"}));
        let request = world.model.wait_for_request(1).await;
        request.wait_until_ended().await;
        assert!(request.is_closed_early());
        let frames = stream.rest().await;
        ended(&frames, protocol);
        let said = frames[0].json().to_string();
        assert!(said.contains("First half, ") && !said.contains("second"), "{said}");
        assert_eq!(world.model.requests().len(), 1);
        the_next_question_is_answered(&world, &world.model, "s1").await;
    }
}

#[tokio::test]
async fn a_run_that_ended_is_left_as_it_is() {
    let world = World::start().await;
    world.model.on("Are we done?").reply("Yes.");
    let question = Question::of("Are we done?", "s1");
    let stream = world.ask(Protocol::Native, &question).await;
    let run = stream.run();
    let told = stream.rest().await;
    for _ in 0..2 {
        let answer = world.stop(&run).await;
        assert_eq!(
            (answer.status, answer.json()),
            (200, json!({"run": run, "status": "finished"}))
        );
    }
    assert_eq!(world.told(&question).await.last(), told.last());
}

#[tokio::test]
async fn a_stop_that_comes_many_times_is_one() {
    let world = World::start().await;
    world.model.on("What takes long?").reply("First half, second half.").hang_after(2);
    let question = Question::of("What takes long?", "s1");
    let mut stream = world.ask(Protocol::Native, &question).await;
    stream.until(|frame| frame.event() == "preview").await;
    let run = stream.run();
    let stops = (0..8).map(|_| world.stop(&run));
    for answer in futures::future::join_all(stops).await {
        assert!(matches!(answer.status, 200 | 202), "{}", answer.text);
    }
    let frames = stream.rest().await;
    assert_eq!(frames.iter().filter(|frame| frame.is_final()).count(), 1);
    let again = world.told(&question).await;
    assert_eq!(again.iter().filter(|frame| frame.is_final()).count(), 1);
    the_next_question_is_answered(&world, &world.model, "s1").await;
}

#[tokio::test]
async fn a_stop_in_the_middle_of_a_tool_starts_no_other() {
    for protocol in Protocol::ALL {
        let model = ScriptedModel::start().await.unwrap();
        let slow = Slow::new();
        let mut door = Door::open(
            &model,
            |_| {},
            |parts| {
                parts.ports.tools = parts.ports.tools.clone().with_tool(slow.clone());
                parts.settings.run.max_parallel_tool_calls = 1;
            },
        );
        let client = door.listen().await;
        let calls = (1..=3).map(|nth| ("slow", json!({"nth": nth})));
        model.on("Do three things?").say("I do three things.").calls(calls);
        let stream = client.ask(protocol, &Question::of("Do three things?", "s1")).await;
        slow.started.acquire().await.unwrap().forget();
        assert_eq!(client.stop(&stream.run()).await.status, 202);
        let frames = stream.rest().await;
        ended(&frames, protocol);
        slow.go_on.add_permits(3);
        the_next_question_is_answered(&client, &model, "s1").await;
        assert_eq!(slow.started.available_permits(), 0, "another call was started");
        assert_eq!(model.requests().len(), 2, "the model was asked again");
    }
}

#[tokio::test]
async fn a_stop_before_the_tools_of_a_reply_starts_none() {
    let model = ScriptedModel::start().await.unwrap();
    let slow = Slow::new();
    let with_tool = |parts: &mut crate::world::Parts| {
        parts.ports.tools = parts.ports.tools.clone().with_tool(slow.clone());
    };
    let mut door = Door::open(&model, |_| {}, with_tool);
    let client = door.listen().await;
    // The reply has told all of its call, but has not ended.
    let rule = model.on("Do it?").say("I do it.").call("slow", json!({})).delta_chars(100);
    let gate = rule.gate(4);
    let stream = client.ask(Protocol::Native, &Question::of("Do it?", "s1")).await;
    gate.wait_until_reached().await;
    assert_eq!(client.stop(&stream.run()).await.status, 202);
    let frames = stream.rest().await;
    gate.open();
    ended(&frames, Protocol::Native);
    assert!(frames.iter().all(|frame| frame.event() != "call.requested"), "{frames:?}");
    the_next_question_is_answered(&client, &model, "s1").await;
    assert_eq!(slow.started.available_permits(), 0);
}

const TASKS: usize = 50;

/// A plan of fifty steps at once.
fn plans_fifty(model: &ScriptedModel) {
    let steps: Vec<String> = (1..=TASKS).map(|n| format!("part {n}: look")).collect();
    let none: Vec<[u32; 0]> = steps.iter().map(|_| []).collect();
    let plan = json!({"command": "create", "title": "T", "steps": steps, "depends_on": none});
    planner(model).say("Fifty parts.").call("planning", plan);
}

/// A door with room for fifty tasks at once, whose calls run one after the other.
fn door_for_fifty(model: &ScriptedModel, slow: &Slow) -> Door {
    Door::open(
        model,
        |_| {},
        |parts| {
            parts.ports.tools = parts.ports.tools.clone().with_tool(slow.clone());
            parts.settings.run.plan.max_parallel_tasks = 50;
            parts.settings.run.max_parallel_tool_calls = 1;
        },
    )
}

#[tokio::test]
async fn a_stop_reaches_fifty_executors_in_the_middle_of_their_replies() {
    let model = ScriptedModel::start().await.unwrap();
    plans_fifty(&model);
    // Each has told a part of its reply and would go on for ever.
    let executors = model.on_request(|request| !request.offers_tool("planning"));
    executors.reply("word ".repeat(300)).delta_chars(5).delay(Duration::from_millis(200)).always();
    let mut door = door_for_fifty(&model, &Slow::new());
    let client = door.listen().await;
    let mut stream = client.ask(Protocol::Native, &Question::of("Look!", "s1").deep()).await;
    let mut speaking: BTreeSet<String> = BTreeSet::new();
    while speaking.len() < TASKS {
        let Some(frame) = stream.next().await else {
            panic!(
                "only {} of them speak: {speaking:?} {} requests",
                speaking.len(),
                model.requests().len()
            );
        };
        if frame.event() == "preview" {
            speaking.extend(frame.json()["path"].as_str().map(str::to_owned));
        }
    }
    assert_eq!(client.stop(&stream.run()).await.status, 202);
    let frames = stream.rest().await;
    for request in model.requests().iter().filter(|request| !request.offers_tool("planning")) {
        request.wait_until_ended().await;
        assert!(request.is_closed_early());
    }
    ended(&frames, Protocol::Native);
    let stopped = frames.iter().filter(|frame| frame.event() == "child.ended");
    assert_eq!(stopped.count(), TASKS);
    // The journals keep the parts, for viewers that come when no piece is left.
    let kept = frames.iter().filter(|frame| frame.event() == "message.completed").map(Frame::json);
    let kept = kept.filter(|message| message["text"].as_str().unwrap().starts_with("word "));
    let paths: BTreeSet<String> =
        kept.map(|message| message["path"].as_str().unwrap().to_owned()).collect();
    assert_eq!(paths, speaking);
    assert_eq!(model.requests().len(), 1 + TASKS, "somebody asked again");
}

#[tokio::test]
async fn a_stop_reaches_fifty_executors_in_the_middle_of_their_tools() {
    let model = ScriptedModel::start().await.unwrap();
    plans_fifty(&model);
    let executors = model.on_request(|request| !request.offers_tool("planning"));
    let calls = [1, 2].map(|nth| ("slow", json!({"nth": nth})));
    executors.say("I look.").calls(calls).always();
    let slow = Slow::new();
    let mut door = door_for_fifty(&model, &slow);
    let client = door.listen().await;
    let question = Question::of("Look!", "s1").deep();
    let stream = client.ask(Protocol::Native, &question).await;
    let run = stream.run();
    slow.started.acquire_many(50).await.unwrap().forget();
    assert_eq!(client.stop(&run).await.status, 202);
    let frames = stream.rest().await;
    ended(&frames, Protocol::Native);
    // Each task ends its own journal while its call is still held, and what it had done is kept.
    let key = RunKey::new(TenantId::new("local").unwrap(), RunId::new(run).unwrap());
    for step in 1..=TASKS {
        let task = key.with_child(ChildId::for_step(u32::try_from(step).unwrap(), 1));
        while !door.ports.store.find_meta(&task).await.unwrap().unwrap().status.has_ended() {
            tokio::task::yield_now().await;
        }
    }
    slow.go_on.add_permits(2 * TASKS);
    let said = frames
        .iter()
        .filter(|f| f.event() == "message.completed" && f.json()["path"] != json!(null));
    assert_eq!(said.count(), TASKS);
    assert_eq!(slow.started.available_permits(), 0, "another tool was started");
    assert_eq!(model.requests().len(), 1 + TASKS, "somebody asked again");
}
