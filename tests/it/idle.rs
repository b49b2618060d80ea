//! A run that waits for its tasks: a response that does nothing but wait ends, nobody is kept awake,
//! and the run goes on when the tasks have ended.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use djinn_core::id::{RunId, TenantId};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock as _;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::settings::Settings;
use djinn_scripted::{ChunkGate, ScriptedModel};
use reqwest::Method;
use serde_json::{Value, json};

use crate::world::{
    Client, Door, Frame, NativeState, Parts, Protocol, Question, SETTLED_WITHIN, employees,
    planner, quick, settled, summary, task,
};

/// What holds the story in its places.
struct Gates {
    first: ChunkGate,
    second: ChunkGate,
    /// The planner's look at what came of them.
    planner: ChunkGate,
}

/// Two tasks at once, each held in the middle of its reply; then the planner is done.
fn script(world: &Waiting) -> Gates {
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

/// A deployment, each of whose functions has a quarter of an hour, or as long as it likes.
struct Waiting {
    model: ScriptedModel,
    client: Client,
    door: Door,
}

impl Deref for Waiting {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Waiting {
    /// Streams wait for tasks for so long, and drivers look after them all the time.
    async fn start(idle_stream: Duration, has_deadline: bool) -> Self {
        let model = ScriptedModel::start().await.unwrap();
        let change = |parts: &mut Parts| {
            let (idle_stream_unresumable, soon) = (idle_stream, Duration::from_millis(20));
            let settings = Settings { idle_stream, idle_stream_unresumable, ..quick() };
            parts.ports.settings = Arc::new(Settings { dispatch_every: soon, ..settings });
        };
        let mut door = Door::open(&model, |_| {}, change);
        if has_deadline {
            let mut context = lambda_http::Context::default();
            context.deadline = u64::try_from(door.ports.clock.now_ms()).unwrap() + 900_000;
            door.router = door.router.clone().layer(Extension(context));
        }
        let client = door.listen().await;
        Self { model, client, door }
    }

    async fn is_held(&self, run: &str) -> bool {
        let meta = self.door.ports.store.find_meta(&key(run)).await.unwrap().unwrap();
        meta.lease.is_some()
    }

    /// Waits until nobody drives a run.
    async fn let_go(&self, run: &str) {
        let let_go = async {
            while self.is_held(run).await {
                tokio::task::yield_now().await;
            }
        };
        assert!(
            tokio::time::timeout(SETTLED_WITHIN, let_go).await.is_ok(),
            "somebody keeps the run"
        );
    }
}

fn key(run: &str) -> RunKey {
    RunKey::new(TenantId::new("local").unwrap(), RunId::new(run).unwrap())
}

/// What a client shows after these connections.
fn state(connections: &[&[Frame]]) -> NativeState {
    let mut state = NativeState::default();
    let frames = connections.iter().copied().flatten().filter_map(Frame::received);
    let told = frames.filter(|frame| frame.event.as_deref() != Some("run.handed_over"));
    told.for_each(|frame| state.take(frame));
    state.by_id()
}

#[tokio::test]
async fn a_response_that_only_waits_for_tasks_ends_and_the_run_goes_on_without_it() {
    for protocol in Protocol::ALL {
        let world = Waiting::start(Duration::from_millis(300), true).await;
        let gates = script(&world);
        let question = Question::of("What is there?", "s1").deep();
        let stream = world.ask(protocol, &question).await;
        let run = stream.run();
        gates.first.wait_until_reached().await;
        gates.second.wait_until_reached().await;
        // The one that is left is looked after by the driver itself, and driven by its executor.
        gates.first.open();
        let had = stream.rest().await;
        assert!(!world.is_held(&run).await, "{protocol:?}: somebody keeps the run");
        let (last, before) = had.split_last().unwrap();
        assert!(before.iter().all(|frame| !frame.is_final()));
        let next = question.going_on(protocol, last);

        gates.second.open();
        // Nobody is there, and the planner is asked.
        gates.planner.wait_until_reached().await;
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
    let world = Waiting::start(Duration::from_secs(600), true).await;
    let gates = script(&world);
    let question = Question::of("What is there?", "s1").deep();
    let mut stream = world.ask(Protocol::Native, &question).await;
    gates.first.wait_until_reached().await;
    gates.second.wait_until_reached().await;
    gates.first.open();
    stream.until(|frame| frame.event() == "child.ended").await;
    assert!(world.is_held(&stream.run()).await);
    gates.second.open();
    gates.planner.open();
    assert!(stream.rest().await.last().unwrap().is_final());
    world.model.assert_done();
}

#[tokio::test]
async fn a_late_continue_after_a_silent_stream_has_ended_gets_the_answer_once() {
    for (protocol, word) in [(Protocol::Ui, "继续"), (Protocol::Raw, "continue")] {
        let world = Waiting::start(Duration::ZERO, true).await;
        let gates = script(&world);
        let question = Question::of("What is there?", "s1").deep();
        let stream = world.ask(protocol, &question).await;
        let run = stream.run();
        gates.first.wait_until_reached().await;
        gates.second.wait_until_reached().await;
        let had = stream.rest().await;
        question.going_on(protocol, had.last().unwrap());
        gates.first.open();
        gates.second.open();
        gates.planner.open();
        settled(&world.door.ports, &run).await;

        let asks = |nth: u32| Question::new(word).session("s1").request(&format!("late-{nth}"));
        let late = world.ask(protocol, &asks(1)).await;
        assert_eq!((late.status, late.run()), (200, run));
        let told = late.rest().await;
        let last = told.last().unwrap();
        assert!(last.is_final() && last.json().to_string().contains("Both were found."));
        let again = world.ask(protocol, &asks(2)).await;
        assert_eq!(again.status, 409);
        if protocol == Protocol::Ui {
            let told = again.rest().await;
            let last = told.last().unwrap();
            assert!(told.len() == 1 && last.is_final(), "{told:?}");
            let envelope = last.json();
            assert_eq!(envelope["finished"], true);
            let words = envelope["response"].as_str().unwrap();
            // It is said in the language of `继续`.
            assert!(words.contains("没有可继续的内容"), "{words}");
        }
        world.model.assert_done();
    }
}

#[tokio::test]
async fn where_a_function_has_no_deadline_no_stream_ends_for_being_silent() {
    for protocol in Protocol::ALL {
        let world = Waiting::start(Duration::ZERO, false).await;
        let gates = script(&world);
        let question = Question::of("What is there?", "s1").deep();
        let stream = world.ask(protocol, &question).await;
        gates.first.wait_until_reached().await;
        gates.second.wait_until_reached().await;
        gates.first.open();
        gates.second.open();
        gates.planner.open();
        let told = stream.rest().await;
        let last = told.last().unwrap();
        assert!(last.is_final() && !last.is_hand_over(), "{protocol:?}: {last:?}");
        assert!(last.json().to_string().contains("Both were found."));
        world.model.assert_done();
    }
}

#[tokio::test]
async fn without_a_client_nobody_waits_for_tasks() {
    for leaves in [true, false] {
        let world = Waiting::start(Duration::from_secs(600), true).await;
        let gates = script(&world);
        let question = Question::of("What is there?", "s1").deep();
        let run = if leaves {
            // It asks and goes away.
            let mut stream = world.ask(Protocol::Native, &question).await;
            stream.until(|frame| frame.event() == "child.started").await;
            stream.run()
        } else {
            let request = world.request(Method::POST, "/runs").header("accept", "application/json");
            let answer = request.json(&Protocol::Native.body(&question)).send().await.unwrap();
            assert_eq!(answer.status(), 202);
            let answer: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
            answer["run"].as_str().unwrap().to_owned()
        };
        gates.first.wait_until_reached().await;
        gates.second.wait_until_reached().await;
        world.let_go(&run).await;
        gates.first.open();
        gates.second.open();
        gates.planner.wait_until_reached().await;
        gates.planner.open();
        let told = world.come_back(&run, None).await.rest().await;
        assert_eq!(told.last().unwrap().json()["answer"], "Both were found.");
        world.model.assert_done();
    }
}
