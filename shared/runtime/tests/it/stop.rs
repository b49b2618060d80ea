//! A stop takes effect within two seconds, wherever the run is, and keeps what was done.

use std::time::Duration;

use djinn_core::effect::{Delivery, Effect};
use djinn_core::id::ChildId;
use djinn_core::journal::Journal;
use djinn_core::settings::{Machine, RunSettings};
use djinn_core::status::RunStatus;
use djinn_core::tool::EffectClass;
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::RunKey;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::journal::Journals;
use djinn_runtime::port::mailbox::Mailbox;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::serve::{LoadedRun, ServeContext, continue_run, request_stop, start_background};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::memory::{OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

use crate::story::visible;

/// Speaks for 20 s, then calls a tool of that kind, which takes 20 s.
fn slow(effect: EffectClass, ledger: &Ledger) -> Sim {
    let points = Points::new();
    let line = StoryLine::say("One two three four five six seven eight nine ten.")
        .with_pace(Duration::from_millis(1_500))
        .with_call("work", json!({"hard": true}));
    let model =
        StoryModel::new([("t1", line), ("t2", StoryLine::say("Never said."))], points.clone());
    let tool = LedgerTool {
        duration: Duration::from_secs(20),
        ..LedgerTool::new("work", effect, ledger, &points)
    };
    Sim::new(model, Toolbox::default().with_tool(tool), points)
}

/// Stops the run `copies` times this long after it was asked, and returns what viewers see and how
/// long it took the run to end after that.
async fn stopped(sim: &mut Sim, after: Duration, copies: usize) -> (Vec<String>, i64) {
    let stop_at_ms = sim.ports.clock.now_ms() + i64::try_from(after.as_millis()).unwrap();
    sim.stop_at = Some((stop_at_ms, copies));
    let question = sim.make_question(RunSettings::default());
    let entries = sim.run_to_end(&question).await.unwrap();
    (visible(&entries), entries.last().unwrap().at_ms - stop_at_ms)
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_a_reply_ends_it_and_keeps_what_was_said() {
    let ledger = Ledger::default();
    let mut sim = slow(EffectClass::Read, &ledger);
    let (seen, took_ms) = stopped(&mut sim, Duration::from_secs(10), 1).await;
    assert!(took_ms <= 2_000, "{took_ms} ms");
    assert_eq!(seen[1], "t1 says: One two three four five six  (cut)");
    assert!(seen[2].starts_with("end stopped:") && seen[2].contains("stopped)"), "{seen:?}");
    assert!(!sim.points.point_names().contains(&"after model t1".to_owned()), "it went on reading");
    assert_eq!(ledger.lines(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_the_middle_of_a_tool_ends_the_run_and_starts_nothing_more() {
    for (effect, reason) in [(EffectClass::Read, "stopped"), (EffectClass::Once, "uncertain")] {
        let ledger = Ledger::default();
        let mut sim = slow(effect, &ledger);
        let (seen, took_ms) = stopped(&mut sim, Duration::from_secs(30), 1).await;
        assert!(took_ms <= 2_000, "{took_ms} ms");
        assert_eq!(seen[3], format!("t1.c1.result fails: {reason}"));
        assert!(seen[4].starts_with("end stopped:"), "{seen:?}");
        assert!(!sim.points.point_names().contains(&"before model t2".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_comes_twice_is_one_stop_and_one_that_comes_late_is_none() {
    let mut sim = slow(EffectClass::Read, &Ledger::default());
    let (seen, _) = stopped(&mut sim, Duration::from_secs(10), 3).await;
    assert_eq!(seen.iter().filter(|line| line.starts_with("end ")).count(), 1, "{seen:?}");

    let mut sim = crate::story::sim(Points::new(), &Ledger::default());
    let (seen, _) = stopped(&mut sim, Duration::from_secs(15), 2).await;
    assert!(seen.last().unwrap().starts_with("end finished:"), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_before_anybody_drove_it_asks_no_model() {
    let points = Points::new();
    let model = StoryModel::new([("t1", StoryLine::say("Never said."))], points.clone());
    let sim = Sim::new(model.clone(), Toolbox::default(), points);
    let question = sim.make_question(RunSettings::default());
    let by = question.spec.user.clone();
    let key = start_background(&sim.ports, question).await.unwrap();
    let mut run = LoadedRun::load(&sim.ports, &key).await.unwrap();
    assert_eq!(request_stop(&sim.ports, &mut run, by).await, Ok(RunStatus::Queued));
    let holder = "first.1".to_owned();
    let serving = ServeContext { key: key.clone(), holder, deadline: Deadline::none(), hops: 0 };
    continue_run(&sim.ports, serving).await.unwrap();
    let seen = visible(&sim.read_history(&key).await.unwrap());
    assert!(seen.last().unwrap().starts_with("end stopped:"), "{seen:?}");
    assert_eq!(model.requests().len(), 0);
}

/// A plan of `n` steps at once, each of which speaks for 20 s and then works for 20 s.
fn many(n: usize, ledger: &Ledger) -> Sim {
    let points = Points::new();
    let steps: Vec<String> = (1..=n).map(|step| format!("step {step}")).collect();
    let none: Vec<[u32; 0]> = steps.iter().map(|_| []).collect();
    let plan = json!({"command": "create", "title": "t", "steps": steps, "depends_on": none});
    let spoken = StoryLine::say("One two three four five six seven eight nine ten.")
        .with_pace(Duration::from_millis(1_500))
        .with_call("work", json!({"hard": true}));
    let names: Vec<String> = (1..=n).map(|step| format!("s{step}.1.t1")).collect();
    let mut lines: Vec<(&str, StoryLine)> =
        names.iter().map(|name| (name.as_str(), spoken.clone())).collect();
    lines.push(("t1", StoryLine::say("I plan.").with_call("planning", plan)));
    lines.push(("t2", StoryLine::say("I think about it.").with_latency(Duration::from_secs(60))));
    lines.push(("summary", StoryLine::say("Not much.")));
    let model = StoryModel::new(lines, points.clone());
    let tool = LedgerTool {
        duration: Duration::from_secs(20),
        ..LedgerTool::new("work", EffectClass::Read, ledger, &points)
    };
    Sim::new(model, Toolbox::default().with_tool(tool), points)
}

fn planned(n: u32) -> RunSettings {
    let mut settings = RunSettings { mode: Machine::PlanSolve.into(), ..RunSettings::default() };
    settings.plan.max_parallel_tasks = n;
    settings
}

/// Every task has ended as it was told to, and owes no more than an outcome that nobody waits for.
async fn still(sim: &Sim, key: &RunKey, tasks: usize) {
    for step in 1..=tasks {
        let task = key.with_child(ChildId::for_step(u32::try_from(step).unwrap(), 1));
        let records = sim.ports.store.read_from(&task, 0).await.unwrap();
        let run = Journal::fold(&records).unwrap();
        assert_eq!(run.run().status(), RunStatus::Stopped, "{task}");
        let outcome = |effect: &Effect| matches!(effect, Effect::Deliver(Delivery::ChildResult));
        assert!(run.run().due().iter().all(outcome), "{task} owes {:?}", run.run().due());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_reaches_every_task_in_the_middle_of_a_reply_and_of_a_tool() {
    for (after, tools) in [(10, 0), (30, 50)] {
        let ledger = Ledger::default();
        let mut sim = many(50, &ledger);
        let stop_at_ms = sim.ports.clock.now_ms() + after * 1_000;
        sim.stop_at = Some((stop_at_ms, 1));
        let question = sim.make_question(planned(50));
        let entries = sim.run_to_end(&question).await.unwrap();
        let ended = entries.iter().filter(|entry| entry.id.to_string().ends_with(".end")).count();
        assert_eq!(ended, 50);
        assert!(entries.last().unwrap().at_ms - stop_at_ms <= 2_000);
        let key = question.run_key();
        still(&sim, &key, 50).await;
        for step in 1..=50 {
            let task = key.with_child(ChildId::for_step(step, 1));
            let records = sim.ports.store.read_from(&task, 0).await.unwrap();
            assert!(records.last().unwrap().at_ms - stop_at_ms <= 2_000, "{task} went on");
        }
        // What each had said is kept, and those that had called a tool show it.
        let called =
            entries.iter().filter(|entry| entry.id.to_string().ends_with(".t1.c1")).count();
        assert_eq!(called, tools);
        let points = sim.points.point_names();
        let finished = points.iter().filter(|name| name.starts_with("after tool")).count();
        assert_eq!(finished, 0, "a tool went on");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ends_by_itself_stops_its_tasks_and_owes_that_until_it_is_done() {
    let mut sim = many(3, &Ledger::default());
    // The first time each mail is put it is not: what is owed is made again.
    let refused = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = refused.clone();
    sim.ports.store.before_each(move |op| {
        let counted = counted.clone();
        async move {
            let first = op.kind == OpKind::PutMail
                && counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 3;
            if first { StoreFault::NotDone } else { StoreFault::None }
        }
    });
    let mut settings = planned(10);
    settings.budget.wall_ms = 15_000;
    let question = sim.make_question(settings);
    let entries = sim.run_to_end(&question).await.unwrap();
    let seen = visible(&entries);
    let last = seen.last().unwrap();
    assert!(last.starts_with("end failed: Not much.") && last.contains("time_used_up"), "{last}");
    assert!(refused.load(std::sync::atomic::Ordering::Relaxed) >= 6);
    // A task has a deadline of its own, a little before its run's: it failed by itself, or was told.
    for step in 1..=3 {
        let task = question.run_key().with_child(ChildId::for_step(step, 1));
        let records = sim.ports.store.read_from(&task, 0).await.unwrap();
        assert!(Journal::fold(&records).unwrap().run().status().has_ended(), "{task}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_kicked_after_its_run_ended_does_no_work() {
    let mut sim = many(2, &Ledger::default());
    // Nothing that is invoked comes before the run has ended.
    sim.kick_copies = 0;
    sim.stop_at = Some((sim.ports.clock.now_ms() + 5_000, 1));
    let question = sim.make_question(planned(2));
    sim.run_to_end(&question).await.unwrap();
    let asked =
        |sim: &Sim| sim.points.point_names().iter().filter(|n| n.contains("model s")).count();
    let task = question.run_key().with_child(ChildId::for_step(1, 1));
    // Its mail was lost: that its run has ended is enough.
    sim.ports.store.delete_mail(&task, &["stop#".to_owned()]).await.unwrap();
    let serving = |holder: &str| ServeContext {
        key: task.clone(),
        holder: holder.to_owned(),
        deadline: Deadline::none(),
        hops: 0,
    };
    for holder in ["late.1", "late.2"] {
        continue_run(&sim.ports, serving(holder)).await.unwrap();
    }
    assert_eq!(asked(&sim), 0);
    let records = sim.ports.store.read_from(&task, 0).await.unwrap();
    assert_eq!(Journal::fold(&records).unwrap().run().status(), RunStatus::Stopped);
}
