//! A call that takes its process down whenever it is made: it is given up, and it alone.

use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::settings::RunSettings;
use djinn_core::tool::{EffectClass, ToolFailure, ToolResult};
use djinn_runtime::port::tool::Toolbox;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::{Fate, Points};
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

use crate::market;

/// Points of which all of this name kill.
fn deadly(name: &str) -> Points {
    let name = name.to_owned();
    Points::with_decision(
        move |_, point| if point.name == name { Fate::Dies } else { Fate::Passes },
    )
}

/// The calls that failed, and of what.
fn failed(entries: &[Entry]) -> Vec<(String, ToolFailure)> {
    let failed = entries.iter().filter_map(|entry| match &entry.event {
        Event::CallCompleted { result: ToolResult::Failed { reason, .. }, .. } => {
            Some((entry.id.to_string(), *reason))
        }
        _ => None,
    });
    failed.collect()
}

fn deaths(entries: &[Entry]) -> usize {
    entries.iter().filter(|entry| matches!(entry.event, Event::RunResumed { .. })).count()
}

/// Four tools at once, some quicker than others, and one after them.
fn four(points: Points) -> Sim {
    let line = ["look", "write", "look", "dig"]
        .into_iter()
        .fold(StoryLine::say("I do four things."), |line, tool| {
            line.with_call(tool, json!({"with": tool}))
        });
    let next = StoryLine::say("And another.").with_call("look", json!({}));
    let lines = [("t1", line), ("t2", next), ("t3", StoryLine::say("Done."))];
    let model = StoryModel::new(lines, points.clone());
    let ledger = Ledger::default();
    let tool = |name, effect, takes_ms| LedgerTool {
        duration: Duration::from_millis(takes_ms),
        ..LedgerTool::new(name, effect, &ledger, &points)
    };
    let tools = Toolbox::default()
        .with_tool(tool("look", EffectClass::Read, 300))
        .with_tool(tool("write", EffectClass::Idempotent, 300))
        .with_tool(tool("dig", EffectClass::Read, 900));
    Sim::new(model, tools, points)
}

#[tokio::test(start_paused = true)]
async fn the_call_that_kills_is_given_up_and_those_beside_it_have_results() {
    for call in ["t1.c1", "t1.c2", "t1.c3", "t1.c4", "t2.c1"] {
        for point in ["before tool", "after tool"] {
            for at_once in [1, 2, 4] {
                let mut sim = four(deadly(&format!("{point} {call}")));
                let settings =
                    RunSettings { max_parallel_tool_calls: at_once, ..RunSettings::default() };
                let question = sim.make_question(settings);
                let entries = sim.run_to_end(&question).await.unwrap();
                let name = format!("{point} {call}, {at_once} at once");
                let expected = vec![(format!("{call}.result"), ToolFailure::Crashed)];
                assert_eq!((failed(&entries), deaths(&entries)), (expected, 3), "{name}");
                let Some(Event::RunEnded(ending)) = entries.last().map(|entry| &entry.event) else {
                    panic!("no end: {name}")
                };
                assert_eq!((ending.failure.clone(), ending.answer.as_str()), (None, "Done."));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_call_that_kills_is_given_up_and_what_was_done_before_is_kept() {
    for point in ["before model t2", "after model t2"] {
        let mut sim = four(deadly(point));
        let question = sim.make_question(RunSettings::default());
        let entries = sim.run_to_end(&question).await.unwrap();
        assert_eq!((failed(&entries), deaths(&entries)), (Vec::new(), 3), "{point}");
        let Some(Event::RunEnded(ending)) = entries.last().map(|entry| &entry.event) else {
            panic!("no end: {point}")
        };
        assert_eq!(ending.failure.as_ref().map(|failure| failure.code.as_str()), Some("crashed"));
    }
}

/// On a laptop all that works on a plan dies at once: whichever task it was, the others have results.
#[tokio::test(start_paused = true)]
async fn a_task_whose_call_kills_all_that_works_with_it_is_all_that_suffers() {
    let once = market::ONCE.map(|call| format!("{call}.result"));
    for one_machine in [true, false] {
        for call in ["s1.1.t1.c1", "s2.1.t1.c1", "s4.1.t1.c1"] {
            for point in ["before tool", "after tool"] {
                let mut sim = market::sim(deadly(&format!("{point} {call}")), &Ledger::default());
                sim.one_machine = one_machine;
                let entries = market::told(&mut sim).await;
                let name = format!("{point} {call}, one machine: {one_machine}");
                let (crashed, others): (Vec<_>, Vec<_>) = failed(&entries)
                    .into_iter()
                    .partition(|(_, reason)| *reason == ToolFailure::Crashed);
                assert_eq!(crashed, [(format!("{call}.result"), ToolFailure::Crashed)], "{name}");
                let is_unsure = |(id, reason): &(String, ToolFailure)| {
                    *reason == ToolFailure::Uncertain && once.contains(id)
                };
                assert!(others.iter().all(is_unsure), "{name}: {others:?}");
                let ends = entries.iter().filter_map(|entry| match &entry.event {
                    Event::ChildEnded { failure, .. } => Some(failure.clone()),
                    _ => None,
                });
                assert_eq!(ends.collect::<Vec<_>>(), vec![None; 4], "{name}");
                assert!(!sim.has_alarm(), "an alarm is left: {name}");
            }
        }
    }
}
