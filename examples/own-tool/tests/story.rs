//! A question over HTTP that is answered with the deployment's own tool.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

use djinn_local::{System, SystemOptions};
use serde_json::{Value, json};

/// Asks a system without a model of its own, whose scripted one makes the call that a question names. The
/// answer is the result of the call, and that of the run.
async fn ask(question: &str) -> (Value, Value) {
    let options = SystemOptions { djinn: own_tool::build_djinn(), ..SystemOptions::default() };
    let system = System::start(options).await.unwrap();
    let url = format!("http://{}/runs", system.address());
    let http = reqwest::Client::builder().build().unwrap();
    let request = http.post(url).header("accept", "text/event-stream");
    let stream = request.json(&json!({"question": question})).send().await.unwrap();
    let stream = stream.text().await.unwrap();
    let events: Vec<Value> = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let find = |kind: &str| events.iter().find(|event| event["type"] == kind).cloned().unwrap();
    (find("call.completed")["result"].take(), find("run.ended")["answer"].take())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_the_tool() {
    let (result, answer) = ask(
        r#"How much can we work in December? working_days {"from": "2026-12-01", "to": "2026-12-31", "holidays": ["2026-12-25", "2026-12-26"]}"#,
    )
    .await;
    let counted = "22 working days from 2026-12-01 to 2026-12-31";
    assert_eq!((&result["status"], &result["text"]), (&json!("done"), &json!(counted)));
    assert_eq!(answer, format!("The tool answers: {counted}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_told_which_argument_is_wrong() {
    for (arguments, reason, says) in [
        (
            r#"{"from": "2026-11-31", "to": "2026-12-31"}"#,
            "bad_arguments",
            "/from: `2026-11-31` is no day: write it as YYYY-MM-DD",
        ),
        (r#"{"from": "2026-12-01"}"#, "bad_arguments", "\"to\" is a required property"),
        (
            r#"{"from": "2026-12-02", "to": "2026-12-01"}"#,
            "error",
            "2026-12-01 has to come after 2026-12-02, by a hundred years at most",
        ),
    ] {
        let (result, answer) = ask(&format!("working_days {arguments}")).await;
        assert_eq!((&result["reason"], &result["detail"]), (&json!(reason), &json!(says)));
        assert!(answer.as_str().unwrap().contains(says), "{answer}");
    }
}
