//! Killed functions: a driver, whose run the run alarm resumes, and executors, whose steps others perform.

use std::time::Duration;

use serde_json::json;

use crate::story::{PATIENCE, Story};
use crate::world::{Protocol, planner, summary};

const QUESTION: &str = "What survives?";

/// The wait between two alarms: an alarm has no effect until the lease of the killed driver lapses.
const ALARM_EVERY: Duration = Duration::from_secs(2);

#[tokio::test]
#[ignore = "needs the stack: cargo verify --only stack"]
async fn run_alarm_resumes_the_run_of_a_killed_driver() {
    let story = Story::open("a killed driver, and the run alarm that resumes its run").await;
    // The next driver looks for the file, because the upload needs no request to the agent.
    story.announce_file("never.txt", 5).await;
    let reply = story.model.on(QUESTION).reply("Half of the answer.");
    let gate = reply.gate(1);
    reply.then().reply("Everything survives.");
    let question = story.question(QUESTION);
    let (broken, ()) = tokio::join!(story.user.ask(Protocol::Native, &question), async {
        gate.wait_until_reached().await;
        story.kill_processes("agent");
    });
    assert_eq!(broken.status, 502);
    story.wait_for_schedules(1).await;

    let resumed = async {
        loop {
            story.ring_alarms().await;
            let request = story.model.wait_for_request(2);
            if tokio::time::timeout(ALARM_EVERY, request).await.is_ok() {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, resumed).await.expect("an executor resumes the run");
    let runs = story.user.get("/runs?limit=1").await.json();
    let run = runs["runs"][0]["run"].as_str().unwrap().to_owned();
    let frames = story.follow_run(story.user.come_back(&run, None).await).await;
    assert!(frames.iter().any(|frame| frame.event() == "run.resumed"), "{frames:#?}");
    let ended = frames.last().unwrap().json();
    assert_eq!(
        (&ended["status"], &ended["answer"]),
        (&json!("finished"), &json!("Everything survives."))
    );
    story.close();
}

#[tokio::test]
#[ignore = "needs the stack: cargo verify --only stack"]
async fn steps_of_killed_executors_are_performed_by_others() {
    let story = Story::open("killed executors, whose steps others perform").await;
    let steps = ["First: look", "Second: look", "Third: look"];
    let plan = json!({
        "command": "create", "title": "Survival", "steps": steps, "depends_on": [[], [], []],
    });
    planner(&story.model)
        .call("planning", plan)
        .then()
        .call("planning", json!({"command": "finish"}));
    let gates = ["s1.1", "s2.1", "s3.1"].map(|path| {
        let reply = story.at(path).reply("Half of the step.");
        let gate = reply.gate(1);
        reply.then().reply("The whole step.").always();
        gate
    });
    summary(&story.model).reply("All steps survive.");
    let question = story.question(QUESTION).deep();
    let (frames, ()) = tokio::join!(
        async { story.follow_run(story.user.ask(Protocol::Native, &question).await).await },
        async {
            for gate in &gates {
                gate.wait_until_reached().await;
            }
            story.kill_processes("executor");
        },
    );
    assert_eq!(frames.last().unwrap().json()["answer"], "All steps survive.");
    let event = story.receive_undelivered().await;
    let path = event["requestPayload"]["path"].as_str().unwrap();
    assert!(["s1.1", "s2.1", "s3.1"].contains(&path), "{event}");
    story.close();
}
