//! Writes that a store never takes: none is made again, and nothing waits for one.

use std::collections::BTreeMap;

use djinn_core::human::{HumanResponse, HumanSettings};
use djinn_core::settings::RunSettings;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::journal::Journals;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::memory::{MemoryStore, Op, OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::{ALARM_EVERY, Sim};

use crate::market;
use crate::story::{sim, visible};

/// What is written: by which operation, of which run or task, under which number.
type Place = (OpKind, Option<RunKey>, Option<u64>);

fn place(op: &Op) -> Place {
    (op.kind, op.run.clone(), op.record)
}

/// Whether it is as large as somebody makes it.
fn holds_what_is_given(kind: OpKind) -> bool {
    [
        OpKind::Append,
        OpKind::Create,
        OpKind::End,
        OpKind::PutMail,
        OpKind::WriteFile,
        OpKind::WriteLive,
    ]
    .contains(&kind)
}

/// How often each place was written to.
fn written(sim: &Sim) -> BTreeMap<Place, usize> {
    let mut places = BTreeMap::new();
    for op in MemoryStore::clone(&sim.ports.store).log() {
        if holds_what_is_given(op.kind) {
            *places.entry(place(&op)).or_default() += 1;
        }
    }
    places
}

/// Has a run asked for, and lets its alarm bring it back for an hour.
async fn passes(sim: &mut Sim, settings: &RunSettings) {
    sim.ask_question(sim.make_question(settings.clone()));
    for _ in 0..30 {
        sim.pass_time(ALARM_EVERY).await;
        sim.ring_alarms();
    }
    sim.pass_time(ALARM_EVERY).await;
}

async fn no_write_is_made_again(make: impl Fn() -> Sim, settings: RunSettings) {
    let mut undisturbed = make();
    passes(&mut undisturbed, &settings).await;
    let usual = written(&undisturbed);
    assert!(usual.len() >= 6, "{usual:?}");
    for (refused, times) in usual {
        let mut sim = make();
        let at = refused.clone();
        sim.ports.store.before_each(move |op| {
            let fault = if place(&op) == at { StoreFault::TooLarge } else { StoreFault::None };
            async move { fault }
        });
        passes(&mut sim, &settings).await;
        let tried = written(&sim).remove(&refused).unwrap();
        // Of the live log each write is another.
        let is_one = refused.0 != OpKind::WriteLive;
        assert!(tried <= times + 1 || !is_one, "{tried} times, not {times}: {refused:?}");
        assert!(!sim.has_alarm(), "an alarm rings on: {refused:?}");
        assert_eq!(sim.alive_count(), 0, "{refused:?}");
        let key = sim.make_question(settings.clone()).run_key();
        let meta = sim.ports.store.find_meta(&key).await.unwrap();
        let is_over = meta.as_ref().is_none_or(|meta| meta.status.has_ended());
        assert!(is_over, "{meta:?}: {refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_write_of_a_run_that_is_too_large_is_made_again() {
    no_write_is_made_again(|| sim(Points::new(), &Ledger::default()), RunSettings::default()).await;
}

#[tokio::test(start_paused = true)]
async fn no_write_of_a_plan_that_is_too_large_is_made_again() {
    let make = || market::sim(Points::new(), &Ledger::default());
    no_write_is_made_again(make, market::settings()).await;
}

/// Neither what they ask nor what came of them can be put into the mailbox of their run, which learns the
/// latter from their journals, and ends in its time.
#[tokio::test(start_paused = true)]
async fn a_run_whose_tasks_cannot_write_to_it_comes_to_its_end() {
    let human = HumanSettings { enabled: true, timeout_s: 0, ..HumanSettings::default() };
    let settings = RunSettings { human, ..market::settings() };
    let mut sim = market::sim(Points::new(), &Ledger::default());
    sim.person = Some(|_| HumanResponse::Confirm);
    sim.ports.store.before_each(|op| {
        let to_run = op.kind == OpKind::PutMail && op.run.is_some_and(|key| key.is_root());
        async move { if to_run { StoreFault::TooLarge } else { StoreFault::None } }
    });
    let entries = sim.run_to_end(&sim.make_question(settings)).await.unwrap();
    let seen = visible(&entries);
    assert!(seen.last().unwrap().starts_with("end "), "{seen:#?}");
    assert!(!sim.has_alarm());
    let tried: usize = written(&sim)
        .iter()
        .filter(|((kind, key, _), _)| {
            *kind == OpKind::PutMail && key.as_ref().is_some_and(|key| key.is_root())
        })
        .map(|(_, times)| times)
        .sum();
    assert!((1..30).contains(&tried), "{tried}");
}
