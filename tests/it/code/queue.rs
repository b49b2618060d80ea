//! Code that waits for its turn: viewers see its place in line.

use djinn_local::Djinn;
use serde_json::json;
use std::sync::Arc;
use tempfile::TempDir;

use super::{completed, open_sandbox};
use crate::agents::at;
use crate::world::{Protocol, Question, World};

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn code_that_waits_shows_its_place_in_line_and_then_runs() {
    let scratch = TempDir::new().unwrap();
    let sandbox = Arc::into_inner(open_sandbox(&scratch)).unwrap().with_jobs_at_once(1);
    let world = World::start_with(|options, _| {
        options.vars.push(("DJINN_AGENTS__OFFERED", "all".to_owned()));
        options.djinn = Djinn::new().with_sandbox(Arc::new(sandbox));
    })
    .await;
    at(&world.model, "")
        .call("code_interpreter", json!({"task": "Wait for a while."}))
        .call("code_interpreter", json!({"task": "Print seven."}))
        .then()
        .reply("Both ran.");
    let slow = "import time\nbegan = time.monotonic()\nwhile time.monotonic() - began < 2: pass\nprint('slow')";
    at(&world.model, "t1.c1").call("python", json!({"code": slow})).then().reply("It waited.");
    at(&world.model, "t1.c2").call("python", json!({"code": slow})).then().reply("Seven.");
    let question = Question::of("Run both.", "s1");
    let frames = world.ask(Protocol::Native, &question).await.rest().await;
    assert_eq!(frames.last().unwrap().json()["answer"], "Both ran.");
    let progress = frames.iter().filter(|frame| frame.event() == "progress");
    let texts: Vec<_> =
        progress.map(|frame| frame.json()["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(texts, ["Waiting for a free sandbox: position 1 in the queue.\n"]);
    for call in ["t1.c1.t1.c1.result", "t1.c2.t1.c1.result"] {
        let result = completed(&frames, call)[0].json();
        assert!(result["result"]["text"].as_str().unwrap().contains("slow"), "{result}");
    }
}
