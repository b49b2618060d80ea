//! A run that waits for its tasks: a response that does nothing but wait ends, nobody is kept awake,
//! and the run goes on when the tasks have ended.

use std::time::Duration;

use djinn_core::id::{RunId, TenantId};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals as _;
use djinn_scripted::Gate;
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{
    Frame, NativeState, Protocol, Question, World, employees, planner, summary, task,
};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(10);

/// What holds the story in its places.
struct Gates {
    first: Gate,
    second: Gate,
    /// The planner's look at what came of them.
    planner: Gate,
}

/// Two tasks at once, each held in the middle of its reply; then the planner is done.
fn script(world: &World) -> Gates {
    let steps = ["first: look", "second: look"];
    let plan = json!({"command": "create", "title": "T", "steps": steps, "depends_on": [[], []]});
    let rule = planner(&world.model).say("Two parts.").call("planning", plan);
    let rule = rule.then().say("Both are there.").call("planning", json!({"command": "finish"}));
    let planner = rule.gate(1);
    let [first, second] = steps.map(|step| task(&world.model, step).reply("It is there.").gate(2));
    employees(&world.model).reply(r#"{"file_tool": "Clerk"}"#).always();
    summary(&world.model).reply("Both were found.");
    Gates { first, second, planner }
}

/// A system whose streams wait for tasks for so long, and whose drivers look after them all the time.
async fn world(idle_stream: Duration) -> World {
    let change = |options: &mut crate::world::Options, _: &djinn_scripted::Scripted| {
        options.settings.idle_stream = idle_stream;
        options.settings.dispatch_every = Duration::from_millis(20);
    };
    World::start_with(change).await
}

fn key(run: &str) -> RunKey {
    RunKey::new(TenantId::new("local").unwrap(), RunId::new(run).unwrap())
}

async fn is_held(world: &World, run: &str) -> bool {
    let meta = world.system.ports().store.meta(&key(run)).await.unwrap().unwrap();
    meta.lease.is_some()
}

/// Waits until nobody drives a run.
async fn let_go(world: &World, run: &str) {
    let let_go = async {
        while is_held(world, run).await {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(SOON, let_go).await.is_ok(), "somebody keeps the run");
}

/// What a client shows after these connections.
fn state(connections: &[&[Frame]]) -> NativeState {
    let mut state = NativeState::default();
    let frames = connections.iter().copied().flatten().filter_map(Frame::received);
    let told = frames.filter(|frame| frame.event.as_deref() != Some("run.handed_over"));
    told.for_each(|frame| state.take(frame));
    state.by_id()
}

/// The question with which a client goes on after this frame.
fn goes_on(protocol: Protocol, question: &Question, last: &Frame) -> Question {
    match protocol {
        Protocol::Native => {
            assert_eq!(last.event(), "run.handed_over");
            question.clone().after(last.json()["last_event_id"].as_str().unwrap())
        }
        Protocol::Raw => {
            let event = last.json();
            assert_eq!(
                (&event["messageType"], &event["finish"]),
                (&json!("hand_over"), &json!(false))
            );
            question.clone().after(event["ext"]["lastEventId"].as_str().unwrap())
        }
        Protocol::Ui => {
            let envelope = last.json();
            assert_eq!(envelope["finished"], true);
            let words = envelope["response"].as_str().unwrap();
            assert!(words.contains("Still working") && words.contains("continue"), "{words}");
            Question::new("continue").session("s1").request("r2")
        }
    }
}

#[tokio::test]
async fn a_response_that_only_waits_for_tasks_ends_and_the_run_goes_on_without_it() {
    for protocol in Protocol::ALL {
        let world = world(Duration::from_millis(300)).await;
        let gates = script(&world);
        let question = Question::of("What is there?", "s1").deep();
        let stream = world.ask(protocol, &question).await;
        let run = stream.run();
        gates.first.reached().await;
        gates.second.reached().await;
        // The one that is left is looked after by the driver itself, and driven by its executor.
        gates.first.open();
        let had = stream.rest().await;
        assert!(!is_held(&world, &run).await, "{protocol:?}: somebody keeps the run");
        let (last, before) = had.split_last().unwrap();
        assert!(before.iter().all(|frame| !frame.is_final()));
        let next = goes_on(protocol, &question, last);

        gates.second.open();
        // Nobody is there, and the planner is asked.
        gates.planner.reached().await;
        let stream = world.ask(protocol, &next).await;
        assert_eq!(stream.run(), run);
        gates.planner.open();
        let missed = stream.rest().await;
        let last = missed.last().unwrap();
        assert!(last.is_final() && last.json().to_string().contains("Both were found."));
        let seen = |text: &str| missed.iter().any(|frame| frame.json().to_string().contains(text));
        assert!(!seen("run.resumed") && seen("Both are there."), "{protocol:?}: {missed:#?}");
        if protocol == Protocol::Native {
            let whole = world.come_back(&run, None).await.rest().await;
            assert_eq!(state(&[&had, &missed]), state(&[&whole]));
        }
        world.model.assert_done();
    }
}

#[tokio::test]
async fn a_client_that_waits_on_sees_the_tasks_end_and_its_stream_is_not_cut_for_that() {
    let world = world(Duration::from_secs(600)).await;
    let gates = script(&world);
    let question = Question::of("What is there?", "s1").deep();
    let mut stream = world.ask(Protocol::Native, &question).await;
    gates.first.reached().await;
    gates.second.reached().await;
    gates.first.open();
    stream.until(|frame| frame.event() == "task.ended").await;
    assert!(is_held(&world, &stream.run()).await);
    gates.second.open();
    gates.planner.open();
    assert!(stream.rest().await.last().unwrap().is_final());
    world.model.assert_done();
}

#[tokio::test]
async fn without_a_client_nobody_waits_for_tasks() {
    for leaves in [true, false] {
        let world = world(Duration::from_secs(600)).await;
        let gates = script(&world);
        let question = Question::of("What is there?", "s1").deep();
        let run = if leaves {
            // It asks and goes away.
            let mut stream = world.ask(Protocol::Native, &question).await;
            stream.until(|frame| frame.event() == "task.started").await;
            stream.run()
        } else {
            let request = world.request(Method::POST, "/runs").header("accept", "application/json");
            let answer = request.json(&Protocol::Native.body(&question)).send().await.unwrap();
            assert_eq!(answer.status(), 202);
            let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
            answer["run"].as_str().unwrap().to_owned()
        };
        gates.first.reached().await;
        gates.second.reached().await;
        let_go(&world, &run).await;
        gates.first.open();
        gates.second.open();
        gates.planner.reached().await;
        gates.planner.open();
        let told = world.come_back(&run, None).await.rest().await;
        assert_eq!(told.last().unwrap().json()["answer"], "Both were found.");
        world.model.assert_done();
    }
}
