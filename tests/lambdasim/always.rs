//! Runs that are handed over after every record, and whose invocations come twice.

use std::time::Duration;

use djinn_testkit::lambdasim::InvocationOutcome;
use serde_json::json;

use crate::client::{Client, End, Seen};
use crate::host::{Host, Options, quick_and};
use crate::story::Story;

/// Between two chunks of what the model says: no reply takes 200 ms.
pub(crate) const PACE: Duration = Duration::from_millis(20);

/// What a client sees of a run that nothing disturbs.
pub(crate) async fn undisturbed(name: &str, story: Story) -> Seen {
    let options = Options { model_timeout_s: 15, ..Options::default() };
    let host = Host::start(&format!("{name}-undisturbed"), options, story).await;
    let seen = Client::ask(&host, "s1", story).end().await;
    assert_eq!(seen.connections, [End::Final]);
    seen
}

/// Hands over after every record; every asynchronous invocation comes so many times.
async fn always(name: &str, story: Story, copies: usize) -> Host {
    let expected = undisturbed(name, story).await;
    let settings = quick_and(&json!({"hand_over_after_record": true}));
    let host = Host::start(name, Options { settings, copies, ..Options::default() }, story).await;
    let seen = Client::ask(&host, "s1", story).end().await;
    seen.assert_same(&expected, name);
    assert_eq!(seen.again, Vec::<String>::new());
    assert_eq!(seen.count("run.resumed"), 0, "a hand-over is no crash");
    assert_eq!(
        host.with_outcome(InvocationOutcome::TimedOut) + host.with_outcome(InvocationOutcome::Died),
        0
    );
    host
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_react_run_is_the_same_when_every_record_is_handed_over() {
    let host = always("always-react", Story::parts(4, PACE), 1).await;
    // Four turns of a reply and a result each, the answer: nine records before the end's.
    assert!(host.lambda.invocations().len() >= 10);
    assert_eq!(host.returned().len(), 4);
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_plan_is_the_same_when_every_record_is_handed_over() {
    let host = always("always-plan", Story::plan(PACE), 1).await;
    assert!(host.invocations("executor").len() >= 10);
    assert_eq!(host.returned().len(), 3);
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_react_run_is_the_same_when_its_invocations_come_three_times() {
    let host = always("copies-react", Story::parts(4, PACE), 3).await;
    assert_eq!(host.returned().len(), 4, "{:?}", host.returned());
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_plan_is_the_same_when_its_invocations_come_three_times() {
    let host = always("copies-plan", Story::plan(PACE), 3).await;
    assert_eq!(host.returned().len(), 3, "{:?}", host.returned());
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_tree_is_the_same_when_every_record_is_handed_over() {
    let host = always("always-tree", Story::tree(PACE), 1).await;
    assert!(host.invocations("executor").len() >= 10);
    assert_eq!(host.returned().len(), 2, "{:?}", host.returned());
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_tree_is_the_same_when_its_invocations_come_three_times() {
    let host = always("copies-tree", Story::tree(PACE), 3).await;
    assert_eq!(host.returned().len(), 2, "{:?}", host.returned());
}
