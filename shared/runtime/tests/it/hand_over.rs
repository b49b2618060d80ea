//! Runs that outlive their invocations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use djinn_core::journal::Journal;
use djinn_core::settings::RunSettings;
use djinn_runtime::port::journal::Journals as _;
use djinn_runtime::settings::Settings;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::crash::sorted;
use crate::market;
use crate::story::{TOLD, sim, told, tools, visible};

/// Invocations so short that each does one thing and hands over.
fn short_lived(ledger: &Ledger) -> Sim {
    let mut sim = sim(Points::new(), ledger);
    sim.invocation = Some(Duration::from_secs(3));
    let hand_over_margin = Duration::from_secs(1);
    sim.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
    sim
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_handed_over_after_each_step_looks_the_same() {
    let ledger = Ledger::default();
    let mut sim = short_lived(&ledger);
    let entries = told(&mut sim).await;
    // Nobody died, so nothing was resumed either.
    assert!(entries.iter().all(|entry| !entry.id.to_string().starts_with("resumed")));
    assert_eq!(sorted(&visible(&entries)), sorted(&TOLD));
    let kicks = sim.points.point_names().iter().filter(|name| *name == "after kick").count();
    assert!(kicks >= 3, "only {kicks} hand-overs");
    assert_eq!(ledger.count("send t2.c1"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_kick_may_come_twice_or_not_at_all() {
    for copies in [0, 2, 5] {
        let ledger = Ledger::default();
        let mut sim = short_lived(&ledger);
        sim.kick_copies = copies;
        let entries = told(&mut sim).await;
        assert_eq!(sorted(&visible(&entries)), sorted(&TOLD), "each kick {copies} times");
        assert_eq!(ledger.count("send t2.c1"), 1, "each kick {copies} times");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_how_to_go_on_when_its_invocation_ends() {
    let ledger = Ledger::default();
    let mut sim = short_lived(&ledger);
    told(&mut sim).await;
    let first = sim.clients[0].lock().unwrap().clone();
    let (_, last) = first.last().unwrap();
    assert!(last.contains("event: run.handed_over"), "{last}");
    let cursor = last.lines().next().unwrap().strip_prefix("id: ").unwrap();
    assert!(last.contains(&format!("\"last_event_id\":\"{cursor}\"")), "{last}");
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_waits_for_a_call_that_must_not_be_repeated() {
    let (points, ledger) = (Points::new(), Ledger::default());
    let lines = [
        ("t1", StoryLine::say("I send it.").with_call("send", json!({"to": "all"}))),
        ("t2", StoryLine::say("Sent.")),
    ];
    let model = StoryModel::new(lines, points.clone());
    let mut sim = Sim::new(model, tools(&ledger, &points), points);
    // The margin starts after 200 ms, in the middle of a call of 400 ms.
    sim.invocation = Some(Duration::from_millis(1_200));
    let hand_over_margin = Duration::from_secs(1);
    sim.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
    let seen = visible(&told(&mut sim).await);
    assert_eq!(seen[3], "t1.c1.result gets: send is done", "{seen:?}");
    assert_eq!(ledger.count("send t1.c1"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_wall_time_ends_a_run_across_invocations() {
    let ledger = Ledger::default();
    let mut sim = short_lived(&ledger);
    let mut settings = RunSettings::default();
    settings.budget.wall_ms = 1_500;
    let entries = sim.run_to_end(&sim.make_question(settings)).await.unwrap();
    let last = visible(&entries).pop().unwrap();
    assert!(last.starts_with("end failed:") && last.contains("time_used_up"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_went_with_the_runs_end_keeps_nobody_from_delivering() {
    // A renewal is under way while the run ends, and is answered after that.
    let mut sim = sim(Points::new(), &Ledger::default());
    let renew_every = Duration::from_millis(100);
    sim.ports.settings = Settings { renew_every, ..Settings::default() }.into();
    let ended = Arc::new(Semaphore::new(0));
    sim.ports.store.before_each(move |op| {
        let ended = ended.clone();
        async move {
            match op.kind {
                OpKind::End => ended.add_permits(1),
                OpKind::RenewLease => drop(ended.acquire().await),
                _ => {}
            }
            StoreFault::None
        }
    });
    told(&mut sim).await;
    let key = sim.make_question(RunSettings::default()).run_key();
    let records = sim.ports.store.read_from(&key, 0).await.unwrap();
    let owed = Journal::fold(&records).unwrap().run().due();
    assert!(owed.is_empty(), "the run's driver left without {owed:?}");
}

/// The driver that created a child hands the child over, reads its journal, and only then whether it has ended.
#[tokio::test(start_paused = true)]
async fn a_child_that_ends_between_two_reads_has_not_failed() {
    let mut sim = market::sim(Points::new(), &Ledger::default());
    sim.ports.settings = Settings { hand_over_after_record: true, ..Settings::default() }.into();
    let (creator, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(Semaphore::new(0)));
    let wait_for_end = Arc::clone(&ended);
    sim.ports.store.before_each(move |op| {
        let is_child = op.run.as_ref().is_some_and(|key| key.path.to_string() == "s4.1");
        if is_child && op.kind == OpKind::Create {
            creator.store(op.process, Ordering::Relaxed);
        }
        let creator = creator.load(Ordering::Relaxed);
        let is_late = is_child && op.kind == OpKind::Meta && op.process == creator;
        let is_result = op.kind == OpKind::PutMail && creator > 0;
        let ended = Arc::clone(&wait_for_end);
        async move {
            if is_late {
                ended.acquire().await.unwrap().forget();
            } else if is_result {
                ended.add_permits(1);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            StoreFault::None
        }
    });
    let entries = market::told(&mut sim).await;
    assert_eq!(market::seen(&entries), market::expected(&[]));
    assert_eq!(ended.available_permits(), 0, "the driver did not look after the end");
}
