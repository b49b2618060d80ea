//! A crowd: many tasks of one plan, all joined once, however slow the table is.
//!
//! `DJINN_CROWD` says how many there are, 200 if it is not set; `cargo soak` says 1 000.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::conversation::MAX_REPORT;
use djinn_core::entry::Event;
use djinn_core::id::{ChildId, RunId, TenantId};
use djinn_core::journal::Record;
use djinn_core::status::RunStatus;
use djinn_local::{LocalWorld, Stores, StoresOptions};
use djinn_runtime::port::RunKey;
use djinn_runtime::port::mailbox::Mailbox as _;
use djinn_runtime::settings::Settings;
use djinn_scripted::{ChunkGate, RecordedRequest, ScriptedModel, ScriptedResponse};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::world::{
    Door, Frame, Kind, Limits, Options, Protocol, Question, Throttle, World, models, planner,
    settled, summary,
};

/// Longer than a crowd takes.
const LONG: Duration = Duration::from_secs(600);

/// Tasks of a crowd.
#[allow(clippy::disallowed_methods, reason = "the suite is told so from outside")]
fn crowd() -> usize {
    std::env::var("DJINN_CROWD").map_or(200, |tasks| tasks.parse().unwrap())
}

/// A plan of so many steps, none of which waits for another; each is worked on in one reply.
fn script(
    model: &ScriptedModel,
    tasks: usize,
    work: impl Fn() -> ScriptedResponse + Send + Sync + 'static,
) {
    let steps: Vec<String> = (1..=tasks).map(|n| format!("part {n}: write it")).collect();
    let none: Vec<[u32; 0]> = vec![[]; tasks];
    let plan = json!({"command": "create", "title": "T", "steps": steps, "depends_on": none});
    let rule = planner(model).say("In parts.").call("planning", plan);
    rule.then().say("Done.").call("planning", json!({"command": "finish"}));
    summary(model).reply("All is written.");
    let is_task = |request: &RecordedRequest| request.text().contains("Your step:");
    model.on_request(is_task).respond_with(move |_| work()).always();
}

/// How often each of these tasks is meant.
fn once(tasks: usize) -> BTreeMap<String, usize> {
    (1..=tasks).map(|n| (ChildId::for_step(u32::try_from(n).unwrap(), 1).to_string(), 1)).collect()
}

fn count(tasks: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    tasks.for_each(|task| *counted.entry(task).or_default() += 1);
    counted
}

/// The run has joined every task once, and no driver of it was lost.
fn joined_once(records: &[Record], tasks: usize) {
    let mut ended = Vec::new();
    for entry in records.iter().flat_map(|record| &record.entries) {
        if let Event::ChildEnded { child, status, failure, .. } = &entry.event {
            assert_eq!(*status, RunStatus::Finished, "{child}: {failure:?}");
            ended.push(child.to_string());
        }
        if let Some(end) = entry.event.run_result() {
            assert_eq!(end.status, RunStatus::Finished, "{end:?}");
        }
        let lost = matches!(entry.event, Event::RunResumed { .. });
        assert!(!lost, "its driver was lost: {entry:?}");
    }
    assert_eq!(count(ended.into_iter()), once(tasks));
    let epochs: Vec<u64> = records.iter().map(|record| record.epoch).collect();
    assert!(epochs.iter().all(|epoch| *epoch == 1), "somebody else drove: {epochs:?}");
}

/// A client was told each task's words and end once, and the end of the run.
fn told_once(frames: &[Frame], tasks: usize) {
    let named = |event: &'static str, member: &'static str| {
        let frames = frames.iter().filter(move |frame| frame.event() == event);
        count(frames.filter_map(move |frame| frame.json()[member].as_str().map(str::to_owned)))
    };
    assert_eq!(named("child.ended", "child"), once(tasks));
    assert_eq!(named("message.completed", "path"), once(tasks));
    let last = frames.last().unwrap().json();
    assert_eq!((&last["status"], &last["answer"]), (&json!("finished"), &json!("All is written.")));
}

async fn mailbox_is_empty(ports: &LocalWorld, run: &str) {
    let key = RunKey::new(TenantId::new("local").unwrap(), RunId::new(run).unwrap());
    assert_eq!(ports.store.list_mail(&key).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_is_joined_once() {
    let tasks = crowd();
    let change = |options: &mut Options, model: &ScriptedModel| {
        options.settings.client_buffer = usize::MAX;
        options.vars.push(("DJINN_LIMITS__MAX_PLAN_STEPS", tasks.to_string()));
        options.vars.push(("DJINN_MODELS", models(model, &json!({"max_input_tokens": 9_000_000}))));
    };
    let world = World::start_with(change).await;
    let work = Duration::from_millis(50);
    script(&world.model, tasks, move || {
        ScriptedResponse::default().deltas(["At ", "work."]).delay(work)
    });
    let stream = world.ask(Protocol::Native, &Question::of("Write!", "s1").deep()).await;
    let run = stream.run();
    let frames = tokio::time::timeout(LONG, stream.rest()).await.unwrap();
    told_once(&frames, tasks);
    joined_once(&settled(world.system.ports(), &run).await, tasks);
    mailbox_is_empty(world.system.ports(), &run).await;
    world.model.assert_done();
}

/// A crowd at work at once, behind a table whose partitions take what they take of a thousand tasks.
struct Throttled {
    tasks: usize,
    model: ScriptedModel,
    door: Door,
    table: Throttle,
    /// One for each task that has begun.
    begun: Arc<Semaphore>,
    /// Lets all of them write.
    gate: ChunkGate,
}

/// Pieces of what one task writes, and how long each takes.
const PIECES: usize = 20;
const PIECE: Duration = Duration::from_millis(250);

/// What all tasks write together, bytes: too much for their live log.
const WRITTEN: usize = 8_000_000;

impl Throttled {
    async fn start() -> Self {
        let tasks = crowd();
        let stores = Stores::start(StoresOptions::default()).unwrap();
        let mut aws = stores.settings().clone();
        let limits = Limits { live: 1_000, others: u32::try_from(tasks).unwrap() };
        let url = aws.endpoints.dynamodb.take().unwrap();
        let (table, url) = Throttle::start(&url, limits).await;
        aws.endpoints.dynamodb = Some(url);
        let model = ScriptedModel::start().await.unwrap();
        let vars = models(&model, &json!({"max_input_tokens": 9_000_000}));
        let vars = vec![("DJINN_MODELS", vars), ("OPENAI_API_KEY", "key".to_owned())];
        let door = Door::onto(stores, aws, vars, |parts| {
            let settings = Settings {
                client_buffer: usize::MAX,
                // A message that is lost is lost.
                dispatch_every: LONG,
                ..Settings::default()
            };
            parts.ports.settings = Arc::new(settings);
            let plan = &mut parts.settings.run.plan;
            (plan.max_steps, plan.max_parallel_tasks) = (1_000, 1_000);
        });
        let (begun, gate) = (Arc::new(Semaphore::new(0)), ChunkGate::default());
        let writes = (begun.clone(), gate.clone());
        script(&model, tasks, move || {
            writes.0.add_permits(1);
            writing(tasks).with_gate(1, writes.1.clone())
        });
        Self { tasks, model, door, table, begun, gate }
    }
}

/// One task's part of what all write; its report is as long as one may be.
fn writing(tasks: usize) -> ScriptedResponse {
    let thoughts = (WRITTEN / tasks).saturating_sub(MAX_REPORT);
    let characters = (thoughts + MAX_REPORT).div_ceil(PIECES);
    let response = ScriptedResponse::default().delta_chars(characters).delay(PIECE);
    response.reason("thought ".repeat(thoughts / 8)).reply("word ".repeat(MAX_REPORT / 5))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_behind_a_table_that_throttles_loses_nothing() {
    let mut crowd = Throttled::start().await;
    let client = crowd.door.listen().await;
    let asked = client.ask(Protocol::Native, &Question::of("Write!", "s1").deep()).await;
    let run = asked.run();
    let watched = client.come_back(&run, None).await;
    let watching = tokio::spawn(tokio::time::timeout(LONG, watched.rest()));
    let asking = tokio::spawn(tokio::time::timeout(LONG, asked.rest()));
    let all = u32::try_from(crowd.tasks).unwrap();
    tokio::time::timeout(LONG, crowd.begun.acquire_many(all)).await.unwrap().unwrap().forget();
    crowd.gate.open();
    let counted = |kind| crowd.table.counted(kind);
    for told in [asking.await.unwrap().unwrap(), watching.await.unwrap().unwrap()] {
        told_once(&told, crowd.tasks);
        let previews = told.iter().filter(|frame| frame.event() == "preview");
        assert!(previews.count() > crowd.tasks, "nobody was seen at work");
    }
    joined_once(&settled(&crowd.door.ports, &run).await, crowd.tasks);
    mailbox_is_empty(&crowd.door.ports, &run).await;
    let kinds = [Kind::Live, Kind::Mail, Kind::Record, Kind::Other];
    let seen = kinds.map(|kind| (kind, counted(kind)));
    assert_eq!(counted(Kind::Live).throttled, 0, "{seen:?}");
    assert!(counted(Kind::Mail).throttled > 0, "the table was never too slow: {seen:?}");
    crowd.model.assert_done();
}
