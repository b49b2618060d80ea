//! Plan-Solve across invocations: tasks side by side, each with a journal of its own.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::id::TaskId;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::settings::Settings;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::point::{Fate, Passed, Points};
use djinn_testkit::sim::Sim;

use crate::market::{ONCE, expected, seen, settings, sim, told};
use crate::story::visible;

#[tokio::test(start_paused = true)]
async fn steps_run_side_by_side_and_the_planner_sees_what_came_of_them() {
    let mut sim = sim(Points::new(), &Ledger::default());
    let entries = told(&mut sim).await;
    assert_eq!(seen(&entries), expected(&[]));
    let end = visible(&entries).pop().unwrap();
    let figures = "end finished: Gold is the dearer one. (11 steps, 12 model calls, 5 tool calls)";
    assert_eq!(end, figures);
    // The three ran at the same time.
    let at = |id: &str| entries.iter().find(|entry| entry.id == id).unwrap().at_ms;
    for task in ["s1.1", "s2.1", "s3.1"] {
        assert!(at(&format!("{task}.t1")) < at("s1.1.t1.c1.result"), "{task} waited");
    }
    assert!(at("s3.1.end") < at("s1.1.end") && at("s1.1.end") < at("s4.1.start"));
}

#[tokio::test(start_paused = true)]
#[ignore = "prints journals for shared/core/tests/it/golden, when a version is released"]
async fn journals_to_keep() {
    // Everything dies in the planner's second call, once a task has died over what it sends.
    let mut left = vec!["after tool s3.1.t1.c1", "after model t2"];
    let points = Points::deciding(move |_, point| {
        if left.first().is_some_and(|name| point.name == *name) {
            left.remove(0);
            return Fate::Dies;
        }
        Fate::Passes
    });
    let mut sim = sim(points, &Ledger::default());
    told(&mut sim).await;
    let key = sim.question(settings()).run_key();
    for key in [key.clone(), key.with_task(TaskId::of(3, 1))] {
        for record in sim.ports.store.read(&key, 0).await.unwrap() {
            println!("{}", serde_json::to_string(&record).unwrap());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_somebody_works_on_is_not_dispatched_again() {
    let points = Points::new();
    let mut sim = sim(points.clone(), &Ledger::default());
    // Looking for gold takes six times as long.
    let dispatch_every = Duration::from_secs(1);
    sim.ports.settings = Arc::new(Settings { dispatch_every, ..Settings::default() });
    told(&mut sim).await;
    let names = points.names();
    let kicks = names.iter().filter(|name| name.starts_with("before") && name.contains("kick"));
    assert_eq!(kicks.count(), 3, "one for each of the steps at once: {names:#?}");
}

/// A client stays, or none does: then the run's driver sleeps while tasks are at work.
fn simulated(points: Points, ledger: &Ledger, posts: bool) -> Sim {
    let mut sim = sim(points, ledger);
    sim.posts = posts;
    sim
}

#[tokio::test(start_paused = true)]
async fn a_plan_survives_a_crash_of_any_process_at_every_point() {
    for (posts, machines) in [(false, &[false, true][..]), (true, &[false])] {
        let points = Points::new();
        let mut undisturbed = simulated(points.clone(), &Ledger::default(), posts);
        assert_eq!(seen(&told(&mut undisturbed).await), expected(&[]));
        let passed = points.passed();
        println!("{} points", passed.len());
        for (nth, point) in passed.iter().enumerate() {
            println!("{nth:4} process {} {}", point.process, point.name);
        }
        everything_was_reached(&passed, posts);
        for one_machine in machines.iter().copied() {
            for (at, point) in passed.iter().enumerate() {
                let ledger = Ledger::default();
                let mut sim = simulated(Points::killing_at(at), &ledger, posts);
                sim.one_machine = one_machine;
                let entries = told(&mut sim).await;
                assert_eq!(sim.points.passed()[..=at], passed[..=at], "not the same again");
                let with = if one_machine { "all die with" } else { "dies:" };
                let name = format!("{with} process {} {} ({at})", point.process, point.name);
                let lost = uncertain(&passed, at, one_machine);
                assert_eq!(seen(&entries), expected(&lost), "{name}");
                what_was_lost_is_charged(&sim, &entries, &name);
                for call in ONCE {
                    let times = ledger.count(&format!("send {call}"));
                    let known = !lost.contains(&call);
                    assert!(if known { times == 1 } else { times <= 1 }, "{times} times: {name}");
                }
                assert!(!sim.has_alarm(), "an alarm is left: {name}");
            }
        }
    }
}

/// Every kind of step that a process takes is among the points.
fn everything_was_reached(passed: &[Passed], posts: bool) {
    let kinds = [
        ("Append", true),
        ("Create", true),
        ("End", true),
        ("PutMail", true),
        ("DeleteMail", true),
        ("TakeLease", true),
        ("RenewLease", true),
        ("ReleaseLease", posts),
        ("kick", true),
        ("alarm is set", true),
        ("alarm is removed", true),
        ("model", true),
        ("tool", true),
    ];
    for (kind, expected) in kinds {
        for side in ["before", "after"] {
            let is = |point: &Passed| point.name.starts_with(side) && point.name.contains(kind);
            assert_eq!(passed.iter().any(is), expected, "{side} {kind}");
        }
    }
}

/// The calls of which nobody knows whether they happened when a process dies there: those it has
/// begun, and whose results it has not recorded.
fn uncertain(passed: &[Passed], at: usize, one_machine: bool) -> Vec<&'static str> {
    let records = [("s3.1.t1.c1", "s3.1 Append", 2), ("s4.1.t1.c2", "s4.1 Append", 2)];
    assert_eq!(records.map(|(call, ..)| call), ONCE);
    let is_uncertain = |(_, record, n): &(&str, &str, u64)| {
        let place = |n| {
            let name = format!("after {record} {n}");
            passed.iter().position(|point| point.name == name).unwrap()
        };
        let (begun, recorded) = (place(*n), place(n + 1));
        let dies = one_machine || passed[at].process == passed[begun].process;
        dies && (begun..recorded).contains(&at)
    };
    records.iter().filter(|record| is_uncertain(record)).map(|(call, ..)| *call).collect()
}

/// Every model call that was made is charged: at what it cost, or, where that died with its driver, at
/// an estimate, which is marked.
fn what_was_lost_is_charged(sim: &Sim, entries: &[Entry], name: &str) {
    let Some(Event::RunEnded(ending)) = entries.last().map(|entry| &entry.event) else {
        panic!("no end: {name}")
    };
    let spent = ending.spent;
    let made = sim.ports.model.asked().len();
    assert_eq!(spent.model_calls, 12, "{name}");
    if made > 12 {
        assert!(spent.lost_calls > 0, "{made} calls, none marked: {name}");
    }
    // Each costs 110; an estimate counts every letter of a request.
    assert!(spent.tokens() >= made as u64 * 110, "{made} calls, {spent:?}: {name}");
    if spent.lost_calls == 0 {
        assert_eq!(spent.tokens(), 12 * 110, "{name}");
    }
}
