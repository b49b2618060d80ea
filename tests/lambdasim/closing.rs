//! The end of a response when Scheduler fails, and kills at each step of a run's end.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::always::PACE;
use crate::client::Client;
use crate::host::{Host, Options};
use crate::scheduler::{Fault, Scheduler};
use crate::story::Story;

const FAULTS: [Fault; 3] = [Fault::Denies, Fault::Hangs, Fault::Down];

/// The maximum time from the end of a run to the end of its response.
const MAX_OPEN: Duration = Duration::from_secs(1);

/// The last message of the stories.
fn last_message(story: Story) -> &'static str {
    if story.mode() == "react" { "t3" } else { "summary" }
}

async fn start(name: &str, story: Story) -> (Host, Scheduler) {
    let scheduler = Scheduler::start().await;
    let variables = scheduler.variables();
    let options = Options { model_timeout_s: 15, variables, ..Options::default() };
    (Host::start(name, options, story).await, scheduler)
}

/// Asks on one connection. Returns the time from the end of the run to the end of the response.
async fn measure_response(url: String, story: Story) -> Duration {
    let question = json!({
        "question": "What is to be done?", "session_id": "s1", "request_id": "r1",
        "mode": story.mode(),
    });
    let request =
        reqwest::Client::builder().build().unwrap().post(url).header("accept", "text/event-stream");
    let mut response = request.json(&question).send().await.unwrap();
    let mut text = String::new();
    let mut ended_at = None;
    while let Some(chunk) = response.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        if ended_at.is_none() && text.contains("event: run.ended") {
            ended_at = Some(Instant::now());
        }
    }
    assert!(text.contains(r#""status":"finished""#), "{text}");
    ended_at.unwrap_or_else(|| panic!("no end: {text}")).elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_response_ends_in_time_whatever_scheduler_does() {
    for story in [Story::parts(2, PACE), Story::plan(PACE)] {
        for fault in FAULTS {
            for from_start in [true, false] {
                let what = format!("{} {fault:?}, from the start: {from_start}", story.mode());
                let (host, scheduler) = start("closing", story).await;
                if from_start {
                    scheduler.set_fault(Some(fault));
                }
                let response = tokio::spawn(measure_response(format!("{}/runs", host.url), story));
                host.is_asked(last_message(story)).await;
                scheduler.set_fault(Some(fault));
                let open = response.await.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(open <= MAX_OPEN, "{what}: open for {open:?} after the end");
                host.is_idle().await;
                scheduler.set_fault(None);
                assert_eq!(scheduler.count(), usize::from(!from_start), "{what}");
                scheduler.ring(&host).await;
                assert_eq!(scheduler.count(), 0, "{what}: the alarm rings on");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_run_whose_driver_is_killed_at_its_end_loses_nothing() {
    let story = Story::parts(2, PACE);
    for step in ["run.ended", "DELETE begun", "DELETE done"] {
        let (host, scheduler) = start("closing-killed", story).await;
        let client = Client::ask_once(&host, "s1", story);
        host.is_asked(last_message(story)).await;
        if step == "DELETE begun" {
            scheduler.set_fault(Some(Fault::Hangs));
        }
        match step {
            "run.ended" => assert!(client.until_gone().await),
            line => scheduler.wait_for(line).await,
        }
        let [driver] = &host.invocations("agent")[..] else { panic!("one agent") };
        host.lambda.kill(driver.pid);
        host.is_idle().await;
        scheduler.set_fault(None);
        scheduler.ring(&host).await;
        assert_eq!(scheduler.count(), 0, "killed at {step}: the alarm rings on");
        let seen = Client::ask(&host, "s1", story).end().await;
        assert_eq!((seen.resumed(), seen.count("call.completed")), (0, 2), "killed at {step}");
    }
}
