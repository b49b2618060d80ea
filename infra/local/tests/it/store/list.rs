//! A user's runs.

use djinn_core::id::UserId;
use djinn_core::status::RunStatus;
use djinn_runtime::port::journal::Journals;

use super::fresh;
use super::sample::{EXPIRY, end, key, new_run, record, tenant, user};

#[tokio::test]
async fn runs_are_listed_newest_first_with_how_they_ended() {
    let (_stores, store) = fresh();
    for (n, request) in ["r1", "r2", "r3"].into_iter().enumerate() {
        let (session, at_ms) = (format!("s{n}"), 1_700_000_000_000 + n as i64);
        store.create(&key(&session, request), &new_run(&session, request, at_ms)).await.unwrap();
        if request == "r2" {
            let ending = end(&session, at_ms, RunStatus::Stopped);
            store.end(&key(&session, request), &record(1, "x"), &ending, EXPIRY).await.unwrap();
        }
    }
    let all = [RunStatus::Queued, RunStatus::Running, RunStatus::Stopped];
    let runs = store.runs(&tenant(), &user(), &all, 10).await.unwrap();
    let seen: Vec<_> = runs.iter().map(|run| (run.request.as_str(), run.status)).collect();
    let running = RunStatus::Running;
    assert_eq!(seen, [("r3", running), ("r2", RunStatus::Stopped), ("r1", running)]);
    assert_eq!(runs[0].title, "What is r3?");
    assert_eq!((runs[1].started_at_ms, runs[1].ended_at_ms), (1_700_000_000_001, Some(5)));
    assert_eq!(runs[2].run, key("s0", "r1").run);

    let unfinished = store.runs(&tenant(), &user(), &[RunStatus::Running], 1).await.unwrap();
    assert_eq!(unfinished.len(), 1);
    let stranger = UserId::new("bob").unwrap();
    assert!(store.runs(&tenant(), &stranger, &all, 10).await.unwrap().is_empty());
}
