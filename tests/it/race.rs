//! Many at once, and everything twice: one history, no effect doubled.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, RunId, TenantId};
use djinn_core::tool::EffectClass;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::alarm::Invoker as _;
use djinn_runtime::port::mailbox::Mail;
use djinn_runtime::serve::LoadedRun;
use djinn_runtime::settings::Settings;
use djinn_runtime::sleep::wake_run;
use djinn_scripted::{ScriptedModel, ScriptedResponse};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use executor::Executor;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::world::{Client, Door, Frame, Parts, Protocol, Question, World, quick};

fn key(run: &str) -> RunKey {
    RunKey::new(TenantId::new("local").unwrap(), RunId::new(run).unwrap())
}

/// Entries by id and what is said or done in them.
fn history(frames: &[Frame]) -> Vec<String> {
    let entries = frames.iter().filter(|frame| !matches!(frame.event(), "" | "preview"));
    let line = |frame: &Frame| {
        let entry = frame.json();
        let what = ["text", "result", "tool", "answer"].map(|name| entry[name].to_string());
        format!("{} {} {}", frame.id().unwrap(), entry["id"], what.join(" "))
    };
    entries.map(line).collect()
}

/// A tool of each kind, and where it is written down that one was used.
fn with_tools(ledger: &Ledger) -> impl FnOnce(&mut Parts) {
    let tool = |name, effect| LedgerTool::new(name, effect, ledger, &Points::new());
    let once = tool("send", EffectClass::Once);
    let read = tool("look", EffectClass::Read);
    move |parts| parts.ports.tools = parts.ports.tools.clone().with_tool(once).with_tool(read)
}

/// Looks, sends, answers; whoever asks, and however often.
fn script(model: &ScriptedModel) {
    let answer = |request: &djinn_scripted::RecordedRequest| {
        let call = request.header("djinn-call").unwrap().to_owned();
        match call.split('/').nth(1).unwrap() {
            "t1" => ScriptedResponse::default().say("I look.").call("look", json!({})),
            "t2" => ScriptedResponse::default().say("I send.").call("send", json!({})),
            _ => ScriptedResponse::default().reply("All is done."),
        }
    };
    model.on("Look and send.").respond_with(answer).always();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drivers_that_are_kicked_at_once_tell_one_story() {
    let model = ScriptedModel::start().await.unwrap();
    let ledger = Ledger::default();
    let mut door = Door::open(&model, |_| {}, with_tools(&ledger));
    let client = door.listen().await;
    script(&model);
    for nth in 0..5 {
        let question = Question::of("Look and send.", &format!("s{nth}"));
        let body = Protocol::Native.body(&question);
        let accepted = client.post("/runs", &body).await;
        let key = key(accepted.json()["run"].as_str().unwrap());
        let kicks = (0..16).map(|_| door.ports.invoker.kick_run(&key, 0));
        let (told, kicks) = tokio::join!(client.told(&question), join_all(kicks));
        assert!(kicks.into_iter().all(|kick| kick.is_ok()));
        assert_eq!(told.last().unwrap().json()["answer"], "All is done.");
        assert_eq!(history(&client.told(&question).await), history(&told));
        assert_eq!(model.requests().len(), 3 * (nth + 1));
    }
    assert_eq!((ledger.count("send t2.c1"), ledger.count("look t1.c1")), (5, 5));
}

/// Every driver's lease lapses at once, so that each takes the run from the others.
fn thieves() -> Settings {
    let moment = Duration::from_millis(1);
    Settings { lease: moment, renew_every: moment, ..quick() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drivers_that_take_the_run_from_each_other_leave_one_history() {
    let model = ScriptedModel::start().await.unwrap();
    let ledger = Ledger::default();
    let mut door = Door::open(
        &model,
        |_| {},
        |parts| {
            with_tools(&ledger)(parts);
            parts.ports.settings = Arc::new(thieves());
        },
    );
    let client = door.listen().await;
    script(&model);
    for nth in 0..12 {
        let question = Question::of("Look and send.", &format!("s{nth}"));
        let accepted = client.post("/runs", &Protocol::Native.body(&question)).await;
        let run = accepted.json()["run"].as_str().unwrap().to_owned();
        let sent_before = ledger.count("send t2.c1");
        drive_until_it_ends(&door, &client, &run).await;
        let told = client.told(&question).await;
        check_history(&told);
        assert_eq!(history(&client.told(&question).await), history(&told));
        assert!(ledger.count("send t2.c1") <= sent_before + 1, "it was sent twice");
    }
}

async fn drive_until_it_ends(door: &Door, client: &Client, run: &str) {
    let payload = json!({"v": 1, "tenant": "local", "run": run, "hops": 0});
    for _ in 0..50 {
        let drivers = (0..4).map(|_| {
            let executor = Executor { ports: door.ports.clone() };
            let payload = payload.clone();
            tokio::spawn(async move { executor.handle(payload, None).await })
        });
        join_all(drivers).await;
        // Asks for nothing that changes an ended run, and tells whether it has ended.
        let seen = LoadedRun::load(&door.ports, &key(run)).await.unwrap();
        if seen.meta().status.has_ended() {
            return;
        }
    }
    panic!("the run does not end: {}", client.stop(run).await.text);
}

/// No entry comes twice, nothing follows the last one, and every call has one answer.
fn check_history(told: &[Frame]) {
    let entries: Vec<Value> = told.iter().map(Frame::json).collect();
    let entries: Vec<&Value> = entries.iter().filter(|e| e["id"].is_string()).collect();
    let ids: BTreeSet<_> = entries.iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), entries.len(), "{entries:#?}");
    let ends = entries.iter().filter(|entry| entry["type"] == "run.ended").count();
    assert_eq!((ends, &entries.last().unwrap()["id"]), (1, &json!("end")));
    let calls = |kind: &str| -> Vec<_> {
        entries.iter().filter(|e| e["type"] == kind).map(|e| e["call"].to_string()).collect()
    };
    assert_eq!(calls("call.requested"), calls("call.completed"), "{entries:#?}");
}

#[tokio::test]
async fn a_file_that_is_told_of_twice_is_one() {
    let world = World::start().await;
    let gate = world.model.on("What is new?").reply("Two files.").gate(1);
    let question = Question::of("What is new?", "s1");
    let mut stream = world.ask(Protocol::Native, &question).await;
    gate.wait_until_reached().await;
    let key = key(&stream.run());
    let told_of = |name: &str| {
        let file = ProductFile {
            name: FileName::new(name).unwrap(),
            description: String::new(),
            size: 1,
            internal: false,
            media_type: "text/plain".to_owned(),
            object: "files/none".to_owned(),
            has_rows: None,
            uploaded: false,
        };
        Mail::FileAdded { id: format!("mail-{name}"), file }
    };
    let ports = world.system.ports();
    wake_run(ports, &key, &told_of("a.txt")).await.unwrap();
    let mut seen = stream.until(|frame| frame.event() == "file.added").await;
    for mail in [told_of("a.txt"), told_of("a.txt"), told_of("b.txt")] {
        wake_run(ports, &key, &mail).await.unwrap();
    }
    seen.extend(stream.until(|frame| frame.event() == "file.added").await);
    gate.open();
    seen.extend(stream.rest().await);
    let added = seen.iter().filter(|frame| frame.event() == "file.added");
    let names: Vec<_> = added.map(|frame| frame.json()["file"]["name"].clone()).collect();
    assert_eq!(names, ["a.txt", "b.txt"]);
    assert_eq!(seen.iter().filter(|frame| frame.is_final()).count(), 1);
}
