//! What a turn costs the table while its run is driven, and what whoever looks at a run costs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use djinn_core::tool::EffectClass;
use djinn_local::{Stores, StoresOptions};
use djinn_runtime::settings::{Settings, UserLimits};
use djinn_scripted::ScriptedModel;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use reqwest::Method;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::configuration::write;
use crate::world::{Answer, Door, KEY, Protocol, Question, models, quick, received, settled};

/// Settings with which nothing is done beside the journal.
pub(crate) fn undisturbed() -> Settings {
    let never = Duration::from_secs(3_600);
    Settings { lease: 2 * never, renew_every: never, mailbox_every: never, ..quick() }
}

/// The requests of a run with so many turns that call this tool once each.
async fn requests(turns: usize, effect: EffectClass) -> BTreeMap<String, u64> {
    let mut counts = all_requests(turns, effect, undisturbed()).await;
    // The alarm's removal is recorded after the last frame, perhaps by now.
    counts.remove("UpdateItem");
    counts
}

/// The same, whatever they are.
async fn all_requests(
    turns: usize,
    effect: EffectClass,
    settings: Settings,
) -> BTreeMap<String, u64> {
    requests_with(turns, effect, settings, None).await
}

/// The same with the tools of a configuration folder.
async fn requests_with(
    turns: usize,
    effect: EffectClass,
    settings: Settings,
    folder: Option<&Path>,
) -> BTreeMap<String, u64> {
    let model = ScriptedModel::start().await.unwrap();
    let tool = LedgerTool::new("work", effect, &Ledger::default(), &Points::new());
    let stores = Stores::start(StoresOptions::default()).unwrap();
    let aws = stores.settings().clone();
    let mut vars = vec![
        ("OPENAI_API_KEY", KEY.to_owned()),
        ("DJINN_MODELS", models(&model, &json!({"key": "env:OPENAI_API_KEY"}))),
    ];
    vars.extend(folder.map(|folder| ("DJINN_CONFIG", folder.to_str().unwrap().to_owned())));
    let mut door = Door::onto(stores, aws, vars, |parts| {
        parts.ports.tools = parts.ports.tools.clone().with_tool(tool);
        parts.ports.settings = Arc::new(settings);
    });
    let client = door.listen().await;
    let mut rule = model.on("Work.");
    for nth in 0..turns {
        rule = rule.say("I work.").call("work", json!({"nth": nth})).then();
    }
    rule.reply("Done.");
    let frames = client.told(&Question::of("Work.", "s1")).await;
    assert_eq!(frames.last().unwrap().json()["spent"]["steps"], turns + 1);
    model.assert_done();
    let requests = model.requests();
    let tools = requests.last().unwrap().tools().iter();
    let from_outside = tools.filter(|tool| tool.name.starts_with("api_")).count();
    assert_eq!(from_outside, if folder.is_some() { 100 } else { 0 });
    door.aws.request_counter().take_counts()
}

/// What one turn more costs.
async fn one_turn(effect: EffectClass) -> BTreeMap<String, u64> {
    more(&requests(2, effect).await, requests(12, effect).await)
}

/// What there is more of.
fn more(few: &BTreeMap<String, u64>, many: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let cost = |(operation, count): (String, u64)| {
        let difference = count - few.get(&operation).copied().unwrap_or_default();
        (operation, difference)
    };
    many.into_iter().map(cost).filter(|(_, count)| *count > 0).collect()
}

#[tokio::test]
async fn a_turn_with_one_call_costs_two_puts_and_no_read() {
    let ten_turns = one_turn(EffectClass::Idempotent).await;
    assert_eq!(ten_turns, BTreeMap::from([("PutItem".to_owned(), 20)]));
}

#[tokio::test]
async fn a_hundred_tools_from_outside_cost_no_request() {
    let folder = tempfile::tempdir().unwrap();
    for nth in 0..100 {
        // Nothing listens there: whoever asked the server would fail.
        let text = "description = \"Keeps a text.\"\ntrust = \"all\"\n\
            [request]\nmethod = \"POST\"\nurl = \"http://127.0.0.1:9/keep\"\n";
        write(folder.path(), &format!("tools/api_{nth:02}.toml"), text);
    }
    let count = async |turns, folder| {
        let mut counts = requests_with(turns, EffectClass::Idempotent, undisturbed(), folder).await;
        counts.remove("UpdateItem");
        counts
    };
    let with_tools = count(12, Some(folder.path())).await;
    assert_eq!(with_tools, count(12, None).await);
}

#[tokio::test]
async fn a_turn_with_one_call_that_must_not_be_repeated_costs_three_puts_and_no_read() {
    let ten_turns = one_turn(EffectClass::Once).await;
    assert_eq!(ten_turns, BTreeMap::from([("PutItem".to_owned(), 30)]));
}

#[tokio::test]
async fn budgets_and_throttles_add_one_update_to_a_turn_and_nothing_to_start_and_end() {
    let bounded = UserLimits {
        runs_per_minute: Some(1_000),
        runs_at_once: Some(1_000),
        streams: None,
        day_tokens: Some(1_000_000_000),
        day_micro_usd: None,
    };
    let effect = EffectClass::Idempotent;
    let count = async |turns, user| {
        let settings = Settings { user, hand_over_after_record: false, ..undisturbed() };
        let mut counts = all_requests(turns, effect, settings).await;
        // The alarm's removal is recorded after the last frame, perhaps by now.
        counts.remove("PutItem");
        counts
    };
    let free = count(10, UserLimits::default()).await;
    // Ten turns and the answer: each call is one update, and the last settlement travels with the end.
    let added = more(&free, count(10, bounded).await);
    assert_eq!(added, BTreeMap::from([("UpdateItem".to_owned(), 11)]));
}

/// Turns of a run each of which writes a file that is too long for an item of the table.
const LONG_TURNS: usize = 12;

/// A run whose every turn is an object in the bucket; the door it came through, and its id.
async fn long_run(client_buffer: usize) -> (Door, String) {
    let model = ScriptedModel::start().await.unwrap();
    // Nothing is to be summed up on the way.
    let window = json!({"max_input_tokens": 1_000_000});
    let vars = vec![("DJINN_MODELS", models(&model, &window))];
    let stores = Stores::start(StoresOptions::default()).unwrap();
    let aws = stores.settings().clone();
    let mut door = Door::onto(stores, aws, vars, |parts| {
        parts.ports.settings = Arc::new(Settings { client_buffer, ..undisturbed() });
    });
    let client = door.listen().await;
    let content = "All that is known. ".repeat(3_500);
    let mut rule = model.on("Write it all down.");
    for nth in 0..LONG_TURNS {
        let write =
            json!({"command": "upload", "filename": format!("{nth}.md"), "content": content});
        rule = rule.say("I write.").call("file_tool", write).delta_chars(100_000).then();
    }
    rule.reply("Done.");
    let question = Question::of("Write it all down.", "s1");
    let stream = client.ask(Protocol::Native, &question).await;
    let run = stream.run();
    assert!(stream.rest().await.last().unwrap().is_final());
    settled(&door.ports, &run).await;
    let _ = door.aws.request_counter().take_counts();
    (door, run)
}

#[tokio::test]
async fn for_a_viewer_that_does_not_read_no_more_is_read_than_its_buffer_holds() {
    const VIEWERS: usize = 10;
    let (door, run) = long_run(64 * 1024).await;
    let mut unread = Vec::new();
    for _ in 0..VIEWERS {
        let request = Request::get(format!("/runs/{run}/events")).header("host", "localhost");
        let request = request.body(Body::empty()).unwrap();
        unread.push(door.router.clone().oneshot(request).await.unwrap().into_body());
    }
    // Each of them was sent the beginning, and nobody polls the rest.
    let made = door.aws.request_counter().take_counts();
    let objects = made.get("GetObject").copied().unwrap_or_default();
    assert!(objects <= 5 * VIEWERS as u64, "{objects} long records for {VIEWERS}: {made:?}");
    for body in unread {
        let told = to_bytes(body, usize::MAX).await.unwrap();
        let told = received(std::str::from_utf8(&told).unwrap());
        let results = told.iter().filter(|frame| frame.event.as_deref() == Some("call.completed"));
        assert_eq!(results.count(), LONG_TURNS);
        assert_eq!(told.last().unwrap().event.as_deref(), Some("run.ended"));
    }
}

#[tokio::test]
async fn who_looks_an_ended_run_up_reads_its_metadata_and_its_last_words() {
    let (mut door, run) = long_run(64 * 1024).await;
    let client = door.listen().await;
    let shown = client.get(&format!("/runs/{run}")).await.json();
    assert_eq!(
        (&shown["question"], &shown["answer"]),
        (&json!("Write it all down."), &json!("Done."))
    );
    assert_eq!((&shown["status"], &shown["children"]), (&json!("finished"), &json!([])));
    assert_eq!(shown["files"].as_array().unwrap().len(), LONG_TURNS);
    assert_eq!(shown["budget"]["steps"]["spent"], LONG_TURNS + 1);
    let mut made = door.aws.request_counter().take_counts();
    // Whoever drove it may write down that it left.
    made.retain(|operation, _| operation.starts_with("Get") || operation == "Query");
    assert_eq!(made, BTreeMap::from([("GetItem".to_owned(), 1), ("Query".to_owned(), 1)]));
}

/// The requests of a run that is started by this route. Updates are left out, because a driver may write down later that
/// it left.
async fn requests_by(path: &str, body: &Value) -> BTreeMap<String, u64> {
    let model = ScriptedModel::start().await.unwrap();
    let mut door =
        Door::open(&model, |_| {}, |parts| parts.ports.settings = Arc::new(undisturbed()));
    let client = door.listen().await;
    let read = json!({"command": "get", "filename": "none.csv"});
    model.on("Work.").say("I look.").call("file_tool", read).then().reply("Done.");
    let request = client.request(Method::POST, path).header("accept", "text/event-stream");
    let answer = Answer::of(request.json(body).send().await.unwrap()).await;
    assert!(answer.status == 200 && answer.text.contains("Done."), "{path}: {}", answer.text);
    model.assert_done();
    let counter = door.aws.request_counter();
    let mut counts = counter.take_counts();
    // The alarm's removal is recorded after the last frame.
    settled(&door.ports, answer.header("djinn-run-id")).await;
    let later = counter.take_counts();
    *counts.entry("PutItem".to_owned()).or_default() += later.get("PutItem").unwrap_or(&0);
    counts.remove("UpdateItem");
    counts
}

#[tokio::test]
async fn a_run_by_the_protocols_of_others_costs_what_a_run_of_ours_costs() {
    let question = Question::of("Work.", "s1");
    let native = requests_by("/runs", &Protocol::Native.body(&question)).await;
    assert!(native["PutItem"] > 2, "{native:?}");
    let parts = json!([{"type": "text", "text": "Work."}]);
    let messages = json!([{"id": "m1", "role": "user", "parts": parts, "content": "Work."}]);
    let session = json!({"session_id": "s1"});
    for (path, body) in [
        (Protocol::Raw.path(), Protocol::Raw.body(&question)),
        (Protocol::Ui.path(), Protocol::Ui.body(&question)),
        ("/v1/chat/completions", json!({"messages": messages, "metadata": session})),
        ("/v1/chat/completions", json!({"messages": messages, "stream": true})),
        ("/ai/chat", json!({"id": "s1", "messages": messages})),
        ("/agui", json!({"threadId": "s1", "runId": "r1", "messages": messages})),
        ("/v1/responses", json!({"input": "Work.", "conversation": "s1", "stream": true})),
        ("/v1/responses", json!({"input": "Work."})),
    ] {
        assert_eq!(requests_by(path, &body).await, native, "{path} {body}");
    }
}
