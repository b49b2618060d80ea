//! Plan-Solve across invocations: tasks side by side, each with a journal of its own.

use std::sync::Arc;
use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::id::ChildId;
use djinn_core::settings::RunSettings;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::model::ModelRequest;
use djinn_runtime::settings::Settings;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::point::{Fate, PassedPoint, Points};
use djinn_testkit::sim::Sim;

use crate::market::{
    EMPLOYED, ONCE, expected, seen, settings, sim, told, told_with, with_employees,
};
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
    let at = |id: &str| entries.iter().find(|entry| entry.id.to_string() == id).unwrap().at_ms;
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
    let points = Points::with_decision(move |_, point| {
        if left.first().is_some_and(|name| point.name == *name) {
            left.remove(0);
            return Fate::Dies;
        }
        Fate::Passes
    });
    let mut sim = sim(points, &Ledger::default());
    told(&mut sim).await;
    let key = sim.make_question(settings()).run_key();
    for key in [key.clone(), key.with_child(ChildId::for_step(3, 1))] {
        for record in sim.ports.store.read_from(&key, 0).await.unwrap() {
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
    let names = points.point_names();
    let kicks = names.iter().filter(|name| name.starts_with("before") && name.contains("kick"));
    assert_eq!(kicks.count(), 3, "one for each of the steps at once: {names:#?}");
}

/// A client stays, or none does: then the run's driver sleeps while tasks are at work.
fn simulated(points: Points, ledger: &Ledger, posts: bool) -> Sim {
    let mut sim = sim(points, ledger);
    sim.posts_only = posts;
    sim
}

/// What is seen without the employees, after a look at those.
fn seen_besides(entries: &[Entry], employed: bool, name: &str) -> Vec<String> {
    let (employees, seen) =
        seen(entries).into_iter().partition::<Vec<_>, _>(|line| line.contains(".employees "));
    assert_eq!(employees, if employed { &EMPLOYED[..] } else { &[] }, "{name}");
    seen
}

#[tokio::test(start_paused = true)]
async fn a_plan_survives_a_crash_of_any_process_at_every_point() {
    sweep(&settings(), 12, &[(false, &[false, true]), (true, &[false])]).await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_with_digital_employees_survives_a_crash_at_every_point() {
    // One of the four calls is refused, and costs nothing.
    sweep(&with_employees(), 15, &[(false, &[false, true])]).await;
}

/// Kills each process at every point of a plan that takes so many model calls, with a client that
/// stays or does not, on one machine or on several.
async fn sweep(settings: &RunSettings, calls: u32, ways: &[(bool, &[bool])]) {
    let employed = settings.plan.employees;
    for (posts, machines) in ways.iter().copied() {
        let points = Points::new();
        let mut undisturbed = simulated(points.clone(), &Ledger::default(), posts);
        let entries = told_with(&mut undisturbed, settings.clone()).await;
        assert_eq!(seen_besides(&entries, employed, "undisturbed"), expected(&[]));
        let passed = points.passed_points();
        println!("{} points", passed.len());
        for (nth, point) in passed.iter().enumerate() {
            println!("{nth:4} process {} {}", point.process, point.name);
        }
        everything_was_reached(&passed, posts);
        let names = passed.iter().filter(|point| point.name.ends_with(".employees"));
        assert_eq!(names.count(), if employed { 7 } else { 0 }, "before each, and after three");
        for one_machine in machines.iter().copied() {
            for (at, point) in passed.iter().enumerate() {
                let ledger = Ledger::default();
                let mut sim = simulated(Points::killing_at(at), &ledger, posts);
                sim.one_machine = one_machine;
                let entries = told_with(&mut sim, settings.clone()).await;
                assert_eq!(sim.points.passed_points()[..=at], passed[..=at], "not the same again");
                let with = if one_machine { "all die with" } else { "dies:" };
                let name = format!("{with} process {} {} ({at})", point.process, point.name);
                let lost = uncertain(&passed, at, one_machine, employed);
                assert_eq!(seen_besides(&entries, employed, &name), expected(&lost), "{name}");
                what_was_lost_is_charged(&sim, &entries, calls, &name);
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
fn everything_was_reached(passed: &[PassedPoint], posts: bool) {
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
            let is =
                |point: &PassedPoint| point.name.starts_with(side) && point.name.contains(kind);
            assert_eq!(passed.iter().any(is), expected, "{side} {kind}");
        }
    }
}

/// The calls of which nobody knows whether they happened when a process dies there: those it has
/// begun, and whose results it has not recorded.
fn uncertain(
    passed: &[PassedPoint],
    at: usize,
    one_machine: bool,
    employed: bool,
) -> Vec<&'static str> {
    // The records of a call's begin and its result. Of employees one hears before the first of the
    // one task, and between those of the other.
    let places = if employed { [(3, 4), (2, 4)] } else { [(2, 3), (2, 3)] };
    let records = [(ONCE[0], "s3.1 Append", places[0]), (ONCE[1], "s4.1 Append", places[1])];
    let is_uncertain = |(_, record, (begun, recorded)): &(&str, &str, (u64, u64))| {
        let place = |n: &u64| {
            let name = format!("after {record} {n}");
            passed.iter().position(|point| point.name == name).unwrap()
        };
        let (begun, recorded) = (place(begun), place(recorded));
        let dies = one_machine || passed[at].process == passed[begun].process;
        dies && (begun..recorded).contains(&at)
    };
    records.iter().filter(|record| is_uncertain(record)).map(|(call, ..)| *call).collect()
}

/// Every model call that was made is charged: at what it cost, or, where that died with its driver, at
/// an estimate, which is marked.
fn what_was_lost_is_charged(sim: &Sim, entries: &[Entry], calls: u32, name: &str) {
    let Some(Event::RunEnded(ending)) = entries.last().map(|entry| &entry.event) else {
        panic!("no end: {name}")
    };
    let spent = ending.spent;
    let is_refused = |request: &ModelRequest| request.call.contains("/s3.1.employees/");
    let made = sim.ports.model.requests().iter().filter(|request| !is_refused(request)).count();
    assert_eq!(spent.model_calls, calls, "{name}");
    if made > calls as usize {
        assert!(spent.lost_calls > 0, "{made} calls, none marked: {name}");
    }
    // Each costs 110; an estimate counts every letter of a request.
    assert!(spent.tokens() >= made as u64 * 110, "{made} calls, {spent:?}: {name}");
    if spent.lost_calls == 0 {
        assert_eq!(spent.tokens(), u64::from(calls) * 110, "{name}");
    }
}
