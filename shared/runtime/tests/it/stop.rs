//! A stop takes effect within two seconds, wherever the run is, and keeps what was done.

use std::time::Duration;

use djinn_core::settings::RunSettings;
use djinn_core::status::RunStatus;
use djinn_core::tool::EffectClass;
use djinn_runtime::deadline::Deadline;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::serve::{Serving, accept, continue_run, stop};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{Line, StoryModel};
use serde_json::json;

use crate::story::visible;

/// Speaks for 20 s, then calls a tool of that kind, which takes 20 s.
fn slow(effect: EffectClass, ledger: &Ledger) -> Sim {
    let points = Points::new();
    let line = Line::say("One two three four five six seven eight nine ten.")
        .paced(Duration::from_millis(1_500))
        .call("work", json!({"hard": true}));
    let model = StoryModel::new([("t1", line), ("t2", Line::say("Never said."))], points.clone());
    let tool = LedgerTool {
        takes: Duration::from_secs(20),
        ..LedgerTool::new("work", effect, ledger, &points)
    };
    Sim::new(model, Toolbox::default().with(tool), points)
}

/// Stops the run `copies` times this long after it was asked, and returns what viewers see and how
/// long it took the run to end after that.
async fn stopped(sim: &mut Sim, after: Duration, copies: usize) -> (Vec<String>, i64) {
    let stop_at_ms = sim.ports.clock.now_ms() + i64::try_from(after.as_millis()).unwrap();
    sim.stop_at = Some((stop_at_ms, copies));
    let question = sim.question(RunSettings::default());
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
    assert!(!sim.points.names().contains(&"after model t1".to_owned()), "it went on reading");
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
        assert!(!sim.points.names().contains(&"before model t2".to_owned()));
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
    let model = StoryModel::new([("t1", Line::say("Never said."))], points.clone());
    let sim = Sim::new(model.clone(), Toolbox::default(), points);
    let question = sim.question(RunSettings::default());
    let by = question.user.clone();
    let key = accept(&sim.ports, question).await.unwrap();
    assert_eq!(stop(&sim.ports, &key, by).await, Ok(RunStatus::Queued));
    let holder = "first.1".to_owned();
    let serving = Serving { key: key.clone(), holder, deadline: Deadline::none(), hops: 0 };
    continue_run(&sim.ports, serving).await.unwrap();
    let seen = visible(&sim.history(&key).await.unwrap());
    assert!(seen.last().unwrap().starts_with("end stopped:"), "{seen:?}");
    assert_eq!(model.asked().len(), 0);
}
