//! What takes how long: tools at the same time, silence, time-outs, retries.

use std::collections::BTreeMap;
use std::time::Duration;

use djinn_core::settings::RunSettings;
use djinn_core::tool::EffectClass;
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::model::ModelErrorKind;
use djinn_runtime::port::tool::Toolbox;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::memory::{OpKind, StoreFault};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

use crate::story::{sim, told, visible};

/// A run whose first turn calls `calls` tools of `takes` each.
fn calling(calls: u32, takes: Duration, timeout_ms: u64) -> Sim {
    let points = Points::new();
    let line = (0..calls).fold(StoryLine::say("I call them."), |line, nth| {
        line.with_call("work", json!({"nth": nth}))
    });
    let model = StoryModel::new([("t1", line), ("t2", StoryLine::say("Done."))], points.clone());
    let ledger = Ledger::default();
    let tool = LedgerTool {
        duration: takes,
        timeout_ms,
        ..LedgerTool::new("work", EffectClass::Read, &ledger, &points)
    };
    Sim::new(model, Toolbox::default().with_tool(tool), points)
}

async fn tools_take_ms(sim: &mut Sim, max_parallel_tool_calls: u32) -> i64 {
    let settings = RunSettings { max_parallel_tool_calls, ..RunSettings::default() };
    let entries = sim.run_to_end(&sim.make_question(settings)).await.unwrap();
    let at_ms = |id: &str| entries.iter().find(|entry| entry.id.to_string() == id).unwrap().at_ms;
    at_ms("t2") - at_ms("t1")
}

#[tokio::test(start_paused = true)]
async fn two_tools_of_three_seconds_take_three_seconds() {
    let mut sim = calling(2, Duration::from_secs(3), 60_000);
    assert_eq!(tools_take_ms(&mut sim, 4).await, 3_000);
}

#[tokio::test(start_paused = true)]
async fn three_tools_of_two_seconds_at_a_limit_of_two_take_four() {
    let mut sim = calling(3, Duration::from_secs(2), 60_000);
    assert_eq!(tools_take_ms(&mut sim, 2).await, 4_000);
}

#[tokio::test(start_paused = true)]
async fn three_calls_of_a_tool_that_takes_one_at_a_time_take_one_after_the_other() {
    for (bound, tool, takes_ms) in [(1, "work", 6_000), (2, "work", 4_000), (1, "other", 2_000)] {
        let mut sim = calling(3, Duration::from_secs(2), 60_000);
        let max_parallel_per_tool = BTreeMap::from([(tool.to_owned(), bound)]);
        let settings = RunSettings { max_parallel_per_tool, ..RunSettings::default() };
        let entries = sim.run_to_end(&sim.make_question(settings)).await.unwrap();
        let at_ms =
            |id: &str| entries.iter().find(|entry| entry.id.to_string() == id).unwrap().at_ms;
        assert_eq!(at_ms("t2") - at_ms("t1"), takes_ms, "{bound} of {tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn results_of_the_same_moment_share_a_record() {
    let mut sim = calling(4, Duration::from_secs(1), 60_000);
    tools_take_ms(&mut sim, 4).await;
    let appends =
        sim.points.point_names().iter().filter(|name| name.starts_with("after Append")).count();
    // t1, the four results, delivered; the end is a transaction.
    assert_eq!(appends, 3, "{:?}", sim.points.point_names());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_is_a_result_and_the_run_goes_on() {
    let mut sim = calling(1, Duration::from_secs(100), 5_000);
    let entries = sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    let seen = visible(&entries);
    assert_eq!(seen[3], "t1.c1.result fails: timed_out 5");
    assert!(seen.last().unwrap().starts_with("end finished:"), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_client_hears_something_every_ten_seconds_while_a_model_and_a_tool_are_silent() {
    let points = Points::new();
    let silent = Duration::from_secs(55);
    let model = StoryModel::new(
        [
            ("t1", StoryLine::say("I work.").with_latency(silent).with_call("work", json!({}))),
            ("t2", StoryLine::say("Done.")),
        ],
        points.clone(),
    );
    let ledger = Ledger::default();
    let tool = LedgerTool {
        duration: silent,
        ..LedgerTool::new("work", EffectClass::Read, &ledger, &points)
    };
    let mut sim = Sim::new(model, Toolbox::default().with_tool(tool), points);
    sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    for client in &sim.clients {
        let frames = client.lock().unwrap();
        let at: Vec<i64> = frames.iter().map(|(at_ms, _)| *at_ms).collect();
        let longest = at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default();
        assert!(longest <= 5_000, "silent for {longest} ms");
        assert!(frames.iter().any(|(_, frame)| frame == ": heartbeat\n\n"));
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_that_sent_text_are_taken_back_and_others_leave_no_trace() {
    let text = "The answer has many letters.";
    for kind in [ModelErrorKind::BrokenOff, ModelErrorKind::Overloaded] {
        for sent in 0..=text.len() {
            let line = StoryLine::say(text).failing_after(sent, kind).failing_after(0, kind);
            let points = Points::new();
            let model = StoryModel::new([("t1", line)], points.clone());
            let mut sim = Sim::new(model, Toolbox::default(), points);
            let entries = sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
            let seen = visible(&entries);
            let resets = seen.iter().filter(|line| line.contains("reset")).count();
            assert_eq!(resets, usize::from(sent > 0), "{kind:?} after {sent}: {seen:?}");
            assert_eq!(seen[seen.len() - 2], format!("t1 says: {text}"));
            assert!(seen.last().unwrap().starts_with(&format!("end finished: {text}")));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_as_too_long_is_halved_and_the_window_is_learned() {
    let points = Points::new();
    let ledger = Ledger::default();
    // What the tool says is twice what the provider takes.
    let tool = LedgerTool::new("look", EffectClass::Read, &ledger, &points);
    let look =
        |text: &str| StoryLine::say(text).with_call("look", json!({"for": "x".repeat(40_000)}));
    let lines = [("t1", look("One.")), ("t2", look("Two.")), ("t3", StoryLine::say("It fits."))];
    let model = StoryModel::new(lines, points.clone()).refusing_above(9_000);
    let mut sim = Sim::new(model.clone(), Toolbox::default().with_tool(tool), points);
    let entries = sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    let seen = visible(&entries);
    assert!(seen.last().unwrap().starts_with("end finished: It fits."), "{seen:#?}");
    let requests = model.requests();
    let calls = requests.iter().map(|request| request.call.split_once('/').unwrap().1);
    // The second call is made twice; before the third, so small a window is worth a summary.
    assert_eq!(calls.collect::<Vec<_>>(), ["t1/1", "t2/1", "t2/1", "t3.compact/1", "t3/1"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_of_which_nothing_can_be_left_out_is_refused_once() {
    let kind = ModelErrorKind::ContextTooLong;
    let points = Points::new();
    let line = StoryLine::say("Never.").failing_after(0, kind).failing_after(0, kind);
    let model = StoryModel::new([("t1", line)], points.clone());
    let mut sim = Sim::new(model.clone(), Toolbox::default(), points);
    let entries = sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    assert_eq!(model.requests().len(), 1);
    let end = visible(&entries).pop().unwrap();
    assert!(end.contains("context_too_long"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn a_client_hears_something_while_the_store_takes_its_time_and_nothing_after_the_end() {
    let mut sim = sim(Points::new(), &Ledger::default());
    let clock = sim.ports.clock.clone();
    sim.ports.store.before_each(move |op| {
        let clock = clock.clone();
        async move {
            if op.kind == OpKind::Append {
                clock.sleep(Duration::from_secs(35)).await;
            }
            StoreFault::None
        }
    });
    sim.delay_alarm_removal(Duration::from_secs(60));
    let entries = told(&mut sim).await;
    // It was renewed meanwhile, so that nobody took the run over.
    assert!(
        entries.iter().all(|entry| !entry.id.to_string().starts_with("resumed")),
        "{entries:?}"
    );
    let frames = sim.clients[0].lock().unwrap().clone();
    let moments: Vec<i64> = frames.iter().map(|(at_ms, _)| *at_ms).collect();
    let longest = moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(longest <= 5_000, "silent for {longest} ms");
    let (_, last) = frames.last().unwrap();
    assert!(last.contains("event: run.ended"), "{last}");
}
