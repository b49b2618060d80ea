//! A plan whose tasks run in processes of their own under `cargo lambda watch`.

use std::time::Duration;

use djinn_scripted::{ChunkGate, RecordedRequest, ScriptedModel};
use serde_json::{Value, json};

use crate::host::{Host, Options};
use crate::{ending, events};

/// The tasks that are at work at once.
const TASKS: [&str; 3] = ["s1.1", "s2.1", "s3.1"];

/// A model that holds the reply of each task until its gate is opened.
fn script(model: &ScriptedModel) -> [ChunkGate; 3] {
    let asks = |model: &ScriptedModel, message: &str| {
        let message = message.to_owned();
        model.on_request(move |request| is_asked(request) == message)
    };
    let create = json!({
        "command": "create", "title": "Metals", "steps": ["gold", "silver", "copper"],
        "depends_on": [[], [], []],
    });
    let _ = asks(model, "t1").say("I plan.").call("planning", create);
    let _ = asks(model, "t2").say("Done.").call("planning", json!({"command": "finish"}));
    asks(model, "summary").reply("Gold leads.").always();
    TASKS.map(|task| asks(model, &format!("{task}.t1")).reply("It is known.").gate(0))
}

/// The message that a request is for: `t1`, `summary`, or with its task `s1.1.t1`.
fn is_asked(request: &RecordedRequest) -> String {
    let call = request.header("djinn-call").unwrap_or_default();
    call.split('/').nth(1).unwrap_or_default().to_owned()
}

async fn asked_for_the_summary(model: &ScriptedModel) {
    for number in 1.. {
        if is_asked(&model.wait_for_request(number).await) == "summary" {
            return;
        }
    }
}

fn options(model: &ScriptedModel) -> Options {
    let models = json!({"models": {"scripted": {
        "provider": "openai", "model": "scripted", "base_url": model.base_url(),
    }}});
    let settings = json!({"lease_ms": 3_000, "renew_every_ms": 300});
    Options {
        concurrency: 4,
        variables: vec![
            ("DJINN_MODELS", models.to_string()),
            ("DJINN_TEST_SETTINGS", settings.to_string()),
        ],
        alarm_every: Duration::from_secs(1),
    }
}

#[tokio::test]
#[ignore = "needs cargo-lambda on the PATH: cargo verify --only watch"]
async fn three_steps_run_in_three_processes_and_the_run_outlives_its_driver() {
    let model = ScriptedModel::start().await.unwrap();
    let gates = script(&model);
    let dir = tempfile::tempdir().unwrap();
    let host = Host::start_with(dir.path(), options(&model)).await;
    let question = json!({
        "question": "Which metal leads?", "session_id": "s1", "request_id": "r1",
        "mode": "plan_solve",
    });
    let stream = host.ask(&question).await;
    for gate in &gates {
        gate.wait_until_reached().await;
    }
    let port = model.address().port();
    let mut working = host.processes("executor");
    working.retain(|process| process.connections_to(port) > 0);
    assert_eq!(working.len(), 3, "{:?}", host.processes("executor"));

    let drivers = host.processes("agent");
    assert!(!drivers.is_empty());
    drivers.iter().for_each(|driver| driver.kill());
    let seen = stream.text().await;
    assert!(!seen.is_ok_and(|seen| seen.contains("run.ended")), "its driver was killed");
    gates.iter().for_each(ChunkGate::open);
    // Nobody has come back yet.
    asked_for_the_summary(&model).await;
    // This host starts no other process in the place of one that died.
    drop(host);
    let host = Host::start_with(dir.path(), options(&model)).await;
    let told = host.ask(&question).await.text().await.unwrap();
    let names: Vec<_> = events(&told).into_iter().map(|(name, _)| name).collect();
    let count = |name: &str| names.iter().filter(|known| **known == name).count();
    assert_eq!((count("child.ended"), count("run.ended")), (3, 1), "{names:?}");
    assert!(count("run.resumed") > 0, "{names:?}");
    let end: Value = ending(&told);
    assert_eq!((&end["status"], &end["answer"]), (&json!("finished"), &json!("Gold leads.")));
    model.assert_done();
}
