//! Runs that are longer than any invocation.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_testkit::lambdasim::Outcome;

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
    assert_eq!(host.with_outcome(Outcome::TimedOut) + host.with_outcome(Outcome::Died), 0);
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
    assert_eq!(end["answer"], format!("There are {turns} parts."));
    assert_eq!(end["files"].as_array().unwrap().len(), 1);
}
