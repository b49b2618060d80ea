//! Runs that are longer than any invocation.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_testkit::lambdasim::InvocationOutcome;

use crate::client::{Client, End};
use crate::host::{Host, Options, soaks};
use crate::story::Story;

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_run_outlives_its_invocations_and_nothing_is_done_twice() {
    // Each turn needs an invocation of its own.
    let turns = if soaks() { 40 } else { 10 };
    let story = Story::parts(turns, Duration::from_millis(200));
    let options = Options { timeout: Duration::from_secs(2), ..Options::default() };
    let host = Host::start("outlives", options, story).await;
    let seen = Client::ask(&host, "s1", story).end().await;

    let invocations = host.lambda.invocations();
    assert!(invocations.len() >= turns, "only {} invocations", invocations.len());
    assert_eq!(
        host.with_outcome(InvocationOutcome::TimedOut) + host.with_outcome(InvocationOutcome::Died),
        0
    );
    // A client is handed over, and comes back; nothing breaks off.
    assert!(seen.connections.len() > 2, "{:?}", seen.connections);
    assert!(seen.connections.iter().all(|end| matches!(end, End::HandedOver | End::Final)));
    assert_eq!(seen.again, Vec::<String>::new());
    assert_eq!(seen.count("run.resumed"), 0);
    assert_eq!(seen.count("call.completed"), turns);
    let returned = host.returned();
    assert_eq!(returned.len(), turns, "{returned:?}");
    assert_eq!(BTreeSet::from_iter(&returned).len(), turns, "a call was made twice: {returned:?}");
    for turn in 1..=turns + 1 {
        assert_eq!(host.asked(&format!("t{turn}")), 1);
    }
    let end = seen.state.entries.last().unwrap();
    assert_eq!(end["answer"], format!("There are {turns} parts, from part-1.md on."));
    assert_eq!(end["files"].as_array().unwrap().len(), 1);
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn a_tree_outlives_its_invocations_and_nothing_is_done_twice() {
    // Its longest reply has seven chunks.
    let story = Story::tree(Duration::from_millis(100));
    let options = Options { timeout: Duration::from_secs(2), ..Options::default() };
    let host = Host::start("outlives-tree", options, story).await;
    let seen = Client::ask(&host, "s1", story).end().await;
    assert_eq!(
        host.with_outcome(InvocationOutcome::TimedOut) + host.with_outcome(InvocationOutcome::Died),
        0
    );
    assert!(seen.connections.len() > 1, "{:?}", seen.connections);
    assert!(seen.connections.iter().all(|end| matches!(end, End::HandedOver | End::Final)));
    assert_eq!(seen.again, Vec::<String>::new());
    assert_eq!((seen.count("run.resumed"), seen.count("child.ended")), (0, 3));
    let mut returned = host.returned();
    returned.sort();
    assert_eq!(returned, ["t1.c1.t1.c1", "t1.c2.t1.c1"]);
    let messages = ["t1", "t1.c1.t1", "t1.c1.t2", "t1.c2.t1", "t1.c2.t2", "t2", "t2.c1.t1", "t3"];
    for message in messages {
        assert_eq!(host.asked(message), 1, "{message}");
    }
    let end = seen.state.entries.last().unwrap();
    assert_eq!(end["answer"], "Gold leads: see report.md.");
    assert_eq!(end["files"][0]["name"], "report.md", "{end}");
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn an_environment_that_passes_its_deadline_is_killed_and_the_run_goes_on() {
    let story = Story::parts(2, Duration::from_millis(50));
    let options = Options { timeout: Duration::from_secs(2), ..Options::default() };
    let host = Host::start("deadline", options, story).await;
    let client = Client::ask(&host, "s1", story);
    client.has_seen("t1").await;
    let [driver] = &host.invocations("agent")[..] else { panic!("one agent") };
    // It does not even know that its time is up.
    host.lambda.freeze(driver.pid);
    let seen = client.end().await;
    assert_eq!(host.with_outcome(InvocationOutcome::TimedOut), 1);
    assert_eq!(seen.connections.first(), Some(&End::Broken));
    assert_eq!(seen.count("run.resumed"), 1);
}

#[tokio::test]
#[ignore = "needs the built functions: cargo verify --only lambdasim"]
async fn an_environment_is_used_again_and_takes_one_invocation_at_a_time() {
    let story = Story::parts(2, Duration::from_millis(50));
    let options = Options { concurrency: 1, ..Options::default() };
    let host = Host::start("again", options, story).await;
    let first = Client::ask(&host, "s1", story);
    first.has_seen("start").await;
    let second = Client::ask(&host, "s2", story).end().await;
    assert_eq!(first.end().await.connections, [End::Final]);
    assert_eq!(second.connections.first(), Some(&End::Refused), "there was no room");
    let pids: BTreeSet<_> = host.invocations("agent").iter().map(|known| known.pid).collect();
    assert_eq!((pids.len(), host.invocations("agent").len()), (1, 2));
}
