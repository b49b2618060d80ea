//! The built functions as Lambda starts them, under AWS's runtime interface emulator: the events of
//! `infra/events` and what they are answered.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod emulator;

use std::path::Path;
use std::process::Command;

use djinn_local::{Backing, BackingOptions};
use emulator::{Emulator, built};
use serde_json::{Value, json};

/// What is in a file of `infra/events`.
fn event(name: &str) -> Value {
    let events = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/events");
    serde_json::from_str(&std::fs::read_to_string(events.join(name)).unwrap()).unwrap()
}

/// The stores and the demo model. Nobody listens where asynchronous invocations are sent.
async fn backing() -> Backing {
    Backing::start(BackingOptions::new("http://127.0.0.1:9")).await.unwrap()
}

fn last_frame(stream: &str) -> &str {
    stream.trim_end().rsplit("\n\n").next().unwrap()
}

#[tokio::test]
#[ignore = "needs built functions and the emulator: cargo verify --only bootstrap"]
async fn the_built_agent_answers_both_kinds_of_event() {
    let (backing, dir) = (backing().await, tempfile::tempdir().unwrap());
    let agent = Emulator::start("agent", &backing, dir.path());
    let health = agent.ask(&event("health-v2.json")).await;
    assert_eq!((&health.prelude["statusCode"], health.body.as_str()), (&json!(200), "ok"));
    assert!(!agent.streams().await, "it streams now: ask there, and say so in docs/deploy.md");
    // A REST API's: its body is base64, and its stage no part of the path.
    let upload = agent.ask(&event("upload-v1.json")).await;
    assert_eq!(upload.prelude["statusCode"], 200, "{}", upload.body);

    let told = agent.ask(&event("question-v2.json")).await;
    let headers = &told.prelude["headers"];
    assert_eq!(headers["content-type"], "text/event-stream; charset=utf-8");
    assert_eq!(headers["djinn-run-id"], event("run.json")["run"]);
    let last = last_frame(&told.body);
    assert!(last.contains("event: run.ended") && last.contains("growth.md"), "{last}");
}

#[tokio::test]
#[ignore = "needs built functions and the emulator: cargo verify --only bootstrap"]
async fn a_run_that_the_built_agent_hands_over_is_ended_by_the_built_executor() {
    let (backing, dir) = (backing().await, tempfile::tempdir().unwrap());
    // Not long enough for a second model call, which may take 300 s.
    let agent = Emulator::start_for(120, "agent", &backing, dir.path());
    agent.ask(&event("upload-v1.json")).await;
    let told = agent.ask(&event("question-v2.json")).await;
    assert!(last_frame(&told.body).contains("event: run.handed_over"), "{}", told.body);
    let executor = Emulator::start("executor", &backing, dir.path());
    assert_eq!(executor.invoke(&event("run.json")).await, "null");
    let told = agent.ask(&event("question-v2.json")).await;
    let last = last_frame(&told.body);
    assert!(last.contains("event: run.ended") && last.contains("growth.md"), "{last}");
    assert!(!told.body.contains("run.resumed"), "nobody died: {}", told.body);
}

#[test]
#[ignore = "needs built functions: cargo verify --only bootstrap"]
fn a_built_function_with_a_misspelt_variable_says_so_and_does_not_start() {
    for function in ["agent", "executor"] {
        let output = Command::new(built(function)).env("DJINN_TABEL", "djinn").output().unwrap();
        assert!(!output.status.success(), "{function}");
        let logged = String::from_utf8(output.stdout).unwrap();
        let sentence =
            "DJINN_TABEL is not a setting; the closest one is DJINN_TABLE, and docs/settings.md";
        assert!(logged.contains(sentence), "{function}: {logged}");
    }
}

#[tokio::test]
#[ignore = "needs built functions and the emulator: cargo verify --only bootstrap"]
async fn the_built_executor_leaves_what_it_does_not_know() {
    let (backing, dir) = (backing().await, tempfile::tempdir().unwrap());
    let executor = Emulator::start("executor", &backing, dir.path());
    for name in ["run.json", "child.json", "alarm.json"] {
        assert_eq!(executor.invoke(&event(name)).await, "null");
    }
    let logged = executor.logged();
    assert_eq!(logged.matches("there is nothing to drive").count(), 3, "{logged}");
    assert_eq!(executor.invoke(&json!("not ours")).await, "null");
    assert!(executor.logged().contains("none of ours"));
}
