//! A store that fails: not done, done but unanswered, down for a while.

use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{MemoryStore, OpKind, StoreFault};
use djinn_testkit::point::Points;

use crate::crash::sorted;
use crate::story::{TOLD, sim, told, visible};

#[tokio::test(start_paused = true)]
async fn every_write_may_fail_or_lose_its_reply() {
    let ledger = Ledger::default();
    let mut told_once = sim(Points::new(), &ledger);
    told(&mut told_once).await;
    let log = MemoryStore::clone(&told_once.ports.store).log();
    let writes: Vec<usize> = log.iter().filter(|op| op.kind.is_write()).map(|op| op.nth).collect();
    assert!(writes.len() >= 9, "{log:?}");
    for nth in writes {
        for fault in [StoreFault::NotDone, StoreFault::ReplyLost] {
            let ledger = Ledger::default();
            let mut sim = sim(Points::new(), &ledger);
            sim.ports.store.before_each(move |op| async move {
                if op.nth == nth { fault } else { StoreFault::None }
            });
            let seen = visible(&told(&mut sim).await);
            let op = &log[nth];
            assert_eq!(sorted(&seen), sorted(&TOLD), "{fault:?} at {op:?}");
            assert_eq!(ledger.count("send t2.c1"), 1, "{fault:?} at {op:?}");
            assert!(!sim.has_alarm(), "{fault:?} at {op:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn reads_may_fail_too() {
    for kind in [OpKind::Session, OpKind::Mail, OpKind::Meta, OpKind::Read] {
        let ledger = Ledger::default();
        let mut sim = sim(Points::new(), &ledger);
        let failed = std::sync::atomic::AtomicBool::new(false);
        let failed = std::sync::Arc::new(failed);
        sim.ports.store.before_each(move |op| {
            let fails = op.kind == kind && !failed.swap(true, std::sync::atomic::Ordering::Relaxed);
            async move { if fails { StoreFault::NotDone } else { StoreFault::None } }
        });
        assert_eq!(sorted(&visible(&told(&mut sim).await)), sorted(&TOLD), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_for_a_minute_loses_nothing() {
    for down_from in 1..8 {
        let ledger = Ledger::default();
        let mut sim = sim(Points::new(), &ledger);
        let (since, clock) = (std::sync::OnceLock::new(), sim.ports.clock.clone());
        let since = std::sync::Arc::new(since);
        sim.ports.store.before_each(move |op| {
            use djinn_runtime::port::clock::Clock;
            let now_ms = clock.now_ms();
            let is_time = op.kind == OpKind::Append && op.record == Some(down_from);
            if is_time {
                since.get_or_init(|| now_ms);
            }
            let down = since.get().is_some_and(|since| now_ms < since + 60_000);
            async move { if down { StoreFault::NotDone } else { StoreFault::None } }
        });
        let seen = visible(&told(&mut sim).await);
        assert_eq!(seen.last().map(|line| &line[..12]), Some("end finished"), "{down_from}");
        assert!(ledger.count("send t2.c1") <= 1, "{down_from}");
    }
}
