//! A plan whose tasks, and agents whose runs, are in environments of their own.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::always::undisturbed;
use crate::client::Client;
use crate::host::{Host, Options, quick_and};
use crate::story::Story;

/// Between two chunks of what the model says: a reply with a call takes 800 ms, with two 1 200 ms.
const PACE: Duration = Duration::from_millis(200);

/// Tasks are looked after soon after the driver has dispatched them, or it would do so at once.
fn options() -> Options {
    let settings = quick_and(&json!({"dispatch_every_ms": 900}));
    let alarm_every = Duration::from_millis(300);
    Options { alarm_every, settings, model_timeout_s: 3, ..Options::default() }
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn three_steps_at_once_run_in_three_processes() {
    let story = Story::plan(PACE);
    let host = Host::start("plan", options(), story).await;
    let client = Client::ask(&host, "s1", story);
    // Each of them has asked the model, and takes its time to answer.
    for message in ["s1.1.t1", "s2.1.t1", "s3.1.t1"] {
        host.is_asked(message).await;
    }
    let working = ["s1.1", "s2.1", "s3.1"].map(|task| host.works_on(task));
    assert_eq!(BTreeSet::from(working).len(), 3, "{working:?}");
    let seen = client.end().await;
    assert_eq!(seen.count("child.ended"), 4);
    assert_eq!(host.returned().len(), 3);
    let mut dispatched = host.invocations("executor");
    dispatched.retain(|invocation| invocation.payload["path"].is_string());
    assert_eq!(dispatched.len(), 3, "one that starts up was dispatched again");
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_plan_goes_on_when_its_driver_is_killed_while_its_tasks_are_at_work() {
    let story = Story::plan(PACE);
    let expected = undisturbed("plan-killed", story).await;
    let host = Host::start("plan-killed", options(), story).await;
    let client = Client::ask(&host, "s1", story);
    client.has_seen("s1.1.start").await;
    let [driver] = &host.invocations("agent")[..] else { panic!("one agent") };
    host.lambda.kill(driver.pid);
    let seen = client.end().await;
    seen.assert_same(&expected, "the driver was killed");
    assert_eq!(seen.count("run.resumed"), 1);
    assert_eq!(host.returned().len(), 3, "a task was done twice: {:?}", host.returned());
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn two_agents_at_once_run_in_two_processes_and_one_alone_where_its_caller_is() {
    let story = Story::tree(PACE);
    let host = Host::start("tree", options(), story).await;
    let client = Client::ask(&host, "s1", story);
    for message in ["t1.c1.t1", "t1.c2.t1"] {
        host.is_asked(message).await;
    }
    let working = ["t1.c1", "t1.c2"].map(|agent| host.works_on(agent));
    assert_eq!(BTreeSet::from(working).len(), 2, "{working:?}");
    let seen = client.end().await;
    assert_eq!(seen.count("child.ended"), 3);
    let mut dispatched = host.invocations("executor");
    dispatched.retain(|invocation| invocation.payload["path"].is_string());
    assert_eq!(dispatched.len(), 2, "{dispatched:?}");
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_tree_goes_on_when_its_driver_or_an_agent_is_killed() {
    let story = Story::tree(PACE);
    let expected = undisturbed("tree-killed", story).await;
    // While two are at work, while one is alone, and one of the two.
    let moments = [("driver", "t1.c1.t1"), ("alone", "t2.c1.t1"), ("agent", "t1.c2.t1")];
    for (killed, message) in moments {
        let host = Host::start(&format!("tree-killed-{killed}"), options(), story).await;
        let client = Client::ask(&host, "s1", story);
        host.is_asked(message).await;
        let pid = match killed {
            "agent" => host.works_on("t1.c2"),
            _ => host.invocations("agent").first().expect("it is driven").pid,
        };
        host.lambda.kill(pid);
        let seen = client.end().await;
        seen.assert_same(&expected, killed);
        assert_eq!(seen.resumed(), 1, "{killed}");
    }
}
