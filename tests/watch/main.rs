//! A question to the real functions behind a real Runtime API.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod host;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod process;

use host::Host;
use reqwest::Response;
use serde_json::{Value, json};

const QUESTION: &str = "Which region grew fastest? Write the answer to growth.md";

const SALES: &str = "region,year,sales\nNorth,2023,100\nNorth,2024,150\nSouth,2023,100\n\
                     South,2024,110\n";

const ANSWER: &str = "North grew fastest, by 50.0 % from 2023 to 2024";

fn question(session: &str, request: &str) -> Value {
    json!({"question": QUESTION, "session_id": session, "request_id": request})
}

/// The events of a stream that has ended: names and what came with them.
fn events(stream: &str) -> Vec<(&str, Value)> {
    stream.split("\n\n").filter_map(event_of).collect()
}

fn event_of(frame: &str) -> Option<(&str, Value)> {
    let field = |name| frame.lines().find_map(|line| line.strip_prefix(name));
    Some((field("event: ")?, serde_json::from_str(field("data:")?).unwrap()))
}

/// What a stream ended with.
fn ending(stream: &str) -> Value {
    let (name, data) = events(stream).pop().unwrap();
    assert_eq!(name, "run.ended", "{stream}");
    data
}

/// Reads a stream until it has said `words`.
async fn until(stream: &mut Response, words: &str) -> String {
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains(words) {
        let chunk = stream.chunk().await.unwrap();
        said.extend_from_slice(&chunk.unwrap_or_else(|| panic!("the stream ended before {words}")));
    }
    String::from_utf8(said).unwrap()
}

#[tokio::test]
#[ignore = "needs cargo-lambda on the PATH: cargo verify --only watch"]
async fn a_question_is_answered_through_either_kind_of_event() {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::start(dir.path()).await;
    host.upload("s1", "sales.csv", SALES).await;
    host.upload("s2", "sales.csv", SALES).await;

    let by_url = host.ask(&question("s1", "r1")).await;
    assert_eq!(by_url.headers()["djinn-request-id"], "r1");
    let by_url = ending(&by_url.text().await.unwrap());
    let by_event = host.ask_by_v1_event(&question("s2", "r2")).await;
    let by_event = ending(&by_event.text().await.unwrap());

    for (ending, session) in [(by_url, "s1"), (by_event, "s2")] {
        assert_eq!(ending["status"], "finished", "{ending}");
        assert!(ending["answer"].as_str().unwrap().starts_with(ANSWER), "{ending}");
        assert_eq!(ending["files"][0]["name"], "growth.md");
        assert!(host.download(session, "growth.md").await.contains(ANSWER));
    }
}

#[tokio::test]
#[ignore = "needs cargo-lambda on the PATH: cargo verify --only watch"]
async fn a_run_whose_functions_were_killed_is_continued_by_the_executor() {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::start(dir.path()).await;
    host.upload("s1", "sales.csv", SALES).await;
    let mut stream = host.ask(&question("s1", "r1")).await;
    until(&mut stream, "call.completed").await;
    drop(host);

    let host = Host::start(dir.path()).await;
    host.backing.continue_runs().await.unwrap();
    // Nobody asks again before the executor has written the file.
    while !host.download("s1", "growth.md").await.contains(ANSWER) {}
    let stream = host.ask(&question("s1", "r1")).await.text().await.unwrap();

    let names: Vec<_> = events(&stream).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.iter().filter(|name| **name == "run.started").count(), 1, "{names:?}");
    assert!(names.contains(&"run.resumed"), "{names:?}");
    assert_eq!(ending(&stream)["status"], "finished", "{stream}");
}
