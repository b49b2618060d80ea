//! Environments that die or stand still in the middle of a run.

use std::time::Duration;

use djinn_testkit::lambdasim::InvocationOutcome;
use serde_json::json;

use crate::always::{PACE, undisturbed};
use crate::client::{Client, End};
use crate::host::{Host, Options, quick_and, soaks};
use crate::story::Story;

/// A model call has longer than any process stands still here: one that timed out in a thawed process
/// would be made again, since nothing tells a process of less than 3 s that it stood still.
fn options() -> Options {
    Options {
        copies: 2,
        model_timeout_s: 15,
        alarm_every: Duration::from_millis(300),
        settings: quick_and(&json!({"lease_ms": 1_500, "renew_every_ms": 200})),
        ..Options::default()
    }
}

/// Kills environments at random moments, after which the client has to see something new; so no
/// effect is killed three times, which would be the end of it.
async fn killed(host: &Host, client: &Client, seed: u64) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut kills = 0;
    let mut results = 0;
    while client.has_seen_results(results).await {
        tokio::time::sleep(Duration::from_millis(random.u64(0..300))).await;
        let running = host.lambda.running_invocations();
        if let Some(invocation) = random.choice(&running) {
            host.lambda.kill(invocation.pid);
            kills += 1;
        }
        results = client.results() + 1;
    }
    kills
}

/// Tells a story again and again while environments are killed.
async fn survives(name: &str, story: Story) {
    let expected = undisturbed(name, story).await;
    let host = Host::start(name, options(), story).await;
    let mut kills = 0;
    for seed in 1..=if soaks() { 30 } else { 3 } {
        let client = Client::ask(&host, &format!("s{seed}"), story);
        kills += killed(&host, &client, seed).await;
        let seen = client.end().await;
        seen.assert_same(&expected, &format!("{name}, seed {seed}"));
    }
    assert!(kills >= 5, "only {kills} kills");
    assert!(host.with_outcome(InvocationOutcome::Died) >= 3);
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_react_run_is_the_same_whenever_its_environments_are_killed() {
    survives("kills-react", Story::parts(4, PACE)).await;
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_plan_is_the_same_whenever_its_environments_are_killed() {
    survives("kills-plan", Story::plan(PACE)).await;
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_driver_that_thaws_after_its_run_was_taken_over_only_reads() {
    let story = Story::parts(4, Duration::from_millis(100));
    let expected = undisturbed("freeze", story).await;
    let host = Host::start("freeze", options(), story).await;
    let first = Client::ask(&host, "s1", story);
    host.is_asked("t2").await;
    let [driver] = &host.invocations("agent")[..] else { panic!("one agent") };
    host.lambda.freeze(driver.pid);
    // Another viewer finds the run undriven once the lease has lapsed, or the alarm does.
    let second = Client::ask(&host, "s1", story);
    second.has_seen("t2").await;
    host.lambda.thaw(driver.pid);

    let (first, second) = (first.end().await, second.end().await);
    first.assert_same(&expected, "thawed");
    second.assert_same(&expected, "taken over");
    assert_eq!(first.connections, [End::Final], "its response went on");
    assert_eq!(second.count("run.resumed"), 1);
    assert_eq!(first.state.entries, second.state.entries);
    assert_eq!(host.asked("t2"), 2);
    for message in ["t3", "t4", "t5"] {
        assert_eq!(host.asked(message), 1, "both asked for {message}");
    }
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn an_executor_that_stands_still_is_replaced() {
    let story = Story::plan(Duration::from_millis(100));
    let expected = undisturbed("freeze-task", story).await;
    let host = Host::start("freeze-task", Options { copies: 1, ..options() }, story).await;
    let client = Client::ask(&host, "s1", story);
    host.is_asked("s2.1.t1").await;
    let executor = host.works_on("s2.1");
    host.lambda.freeze(executor);
    let seen = client.end().await;
    seen.assert_same(&expected, "replaced");
    let asked = host.model.requests().len();
    host.lambda.thaw(executor);
    host.is_idle().await;
    assert_eq!(host.model.requests().len(), asked, "the thawed executor asked the model");
    assert_eq!(host.with_outcome(InvocationOutcome::Died), 0);
}
