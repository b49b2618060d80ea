//! Plan-Solve across invocations: tasks side by side, each with a journal of its own.

use std::time::Duration;

use djinn_core::entry::Entry;
use djinn_core::settings::{Mode, RunSettings};
use djinn_core::tool::EffectClass;
use djinn_runtime::port::tool::Toolbox;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{Line, StoryModel};
use serde_json::{Value, json};

use crate::crash::sorted;
use crate::story::visible;

fn plans(arguments: Value) -> Line {
    Line::say("I plan.").call("planning", arguments)
}

/// Two steps at once, then one that needs both, driven where the run is; then the planner is done.
fn lines() -> Vec<(&'static str, Line)> {
    vec![
        (
            "t1",
            plans(json!({"command": "create", "title": "Prices", "steps":
                ["gold", "silver", "compare"], "depends_on": [[], [], [1, 2]]})),
        ),
        ("s1.1.t1", Line::say("I look for gold.").call("look", json!({"for": "gold"}))),
        ("s1.1.t2", Line::say("Gold is dear.").takes(Duration::from_millis(300))),
        ("s2.1.t1", Line::say("Silver is cheap.").takes(Duration::from_millis(900))),
        ("s3.1.t1", Line::say("Gold is dearer than silver.")),
        ("t2", plans(json!({"command": "finish"}))),
        ("summary", Line::say("Gold is the dearer one.")),
    ]
}

fn sim(points: Points, ledger: &Ledger) -> Sim {
    let model = StoryModel::new(lines(), points.clone());
    let look = LedgerTool::new("look", EffectClass::Read, ledger, &points);
    Sim::new(model, Toolbox::default().with(look), points)
}

async fn told(sim: &mut Sim) -> Vec<Entry> {
    let settings = RunSettings { mode: Mode::PlanSolve, ..RunSettings::default() };
    sim.run_to_end(&sim.question(settings)).await.unwrap()
}

const TOLD: [&str; 21] = [
    "start started: What is to be done?",
    "t1 says: I plan.",
    r#"t1.c1 calls planning {"command":"create","title":"Prices","steps":["gold","silver","compare"],"depends_on":[[],[],[1,2]]}"#,
    "t1.c1.result gets: ",
    "t1.plan plan: gold InProgress, silver InProgress, compare NotStarted",
    "s1.1.start task begins: gold",
    "s2.1.start task begins: silver",
    "s1.1.t1 says: I look for gold.",
    r#"s1.1.t1.c1 calls look {"for":"gold"}"#,
    "s1.1.t1.c1.result gets: look is done",
    "s1.1.t2 says: Gold is dear.",
    "s1.1.end task finished: Gold is dear.",
    "s2.1.t1 says: Silver is cheap.",
    "s2.1.end task finished: Silver is cheap.",
    "s3.1.start task begins: compare",
    "s3.1.t1 says: Gold is dearer than silver.",
    "s3.1.end task finished: Gold is dearer than silver.",
    "t2 says: I plan.",
    r#"t2.c1 calls planning {"command":"finish"}"#,
    "t2.c1.result gets: ",
    "summary says: Gold is the dearer one.",
];

/// What is seen, without the plans between (which step ends first is chance) and the end's figures
/// (a crash costs model calls).
fn seen(entries: &[Entry]) -> Vec<String> {
    let chance = |line: &String| line.contains(".plan plan:") && !line.starts_with("t1.plan");
    visible(entries).into_iter().filter(|line| !chance(line) && !line.starts_with("end ")).collect()
}

#[tokio::test(start_paused = true)]
async fn steps_run_side_by_side_and_the_planner_sees_what_came_of_them() {
    let mut sim = sim(Points::new(), &Ledger::default());
    let entries = told(&mut sim).await;
    assert_eq!(sorted(&seen(&entries)), sorted(&TOLD));
    let end = visible(&entries).pop().unwrap();
    assert!(end.starts_with("end finished: Gold is the dearer one. (6 steps, 7 model"), "{end}");
    // The two ran at the same time.
    let at = |id: &str| entries.iter().find(|entry| entry.id == id).unwrap().at_ms;
    assert!(at("s1.1.t1") < at("s2.1.end") && at("s2.1.end") < at("s3.1.start") + 1);
}

#[tokio::test(start_paused = true)]
async fn a_plan_survives_a_crash_at_every_point() {
    let points = Points::new();
    told(&mut sim(points.clone(), &Ledger::default())).await;
    let names = points.names();
    assert!(names.len() >= 60, "only {} points: {names:?}", names.len());
    for (at, name) in names.iter().enumerate() {
        let mut sim = sim(Points::killing_at(at), &Ledger::default());
        let entries = told(&mut sim).await;
        assert_eq!(sorted(&seen(&entries)), sorted(&TOLD), "killed at {at}, {name}");
        assert!(!sim.has_alarm(), "an alarm is left when killed at {at}, {name}");
    }
}
