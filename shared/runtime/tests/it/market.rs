//! A plan of three parallel steps with tools, and one more after a second look: the story of the
//! tests that break things while several work at once.

use std::time::Duration;

use djinn_core::entry::Entry;
use djinn_core::settings::{Machine, PlanSettings, RunSettings};
use djinn_core::tool::EffectClass;
use djinn_runtime::port::tool::Toolbox;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::{Value, json};

use crate::story::visible;

fn plans(arguments: Value) -> StoryLine {
    StoryLine::say("I plan.").with_call("planning", arguments)
}

/// Gold is looked up, silver written down, everybody told, all at once; then the planner sees that
/// they have to be compared, which happens where the run is driven.
pub(crate) fn lines() -> Vec<(&'static str, StoryLine)> {
    let ms = Duration::from_millis;
    vec![
        (
            "t1",
            plans(json!({"command": "create", "steps": ["gold", "silver", "tell"],
                "depends_on": [[], [], []]})),
        ),
        ("s1.1.t1", StoryLine::say("I look for gold.").with_call("look", json!({"for": "gold"}))),
        ("s1.1.t2", StoryLine::say("Gold is dear.").with_latency(ms(300))),
        (
            "s2.1.t1",
            StoryLine::say("I note silver.")
                .with_latency(ms(90))
                .with_call("write", json!({"of": "it"})),
        ),
        ("s2.1.t2", StoryLine::say("Silver is cheap.").with_latency(ms(900))),
        (
            "s3.1.t1",
            StoryLine::say("I tell them.")
                .with_latency(ms(150))
                .with_call("send", json!({"to": "all"})),
        ),
        ("s3.1.t2", StoryLine::say("They know.").with_latency(ms(700))),
        (
            "t2",
            plans(json!({"command": "update", "steps": ["gold", "silver", "tell", "compare"],
                "depends_on": [[], [], [], [1, 2, 3]]}))
            .with_latency(ms(50)),
        ),
        (
            "s4.1.t1",
            StoryLine::say("I compare and say so.")
                .with_latency(ms(100))
                .with_call("look", json!({"for": "both"}))
                .with_call("send", json!({"to": "boss"})),
        ),
        ("s4.1.t2", StoryLine::say("Gold is dearer.")),
        ("t3", plans(json!({"command": "finish"}))),
        ("summary", StoryLine::say("Gold is the dearer one.")),
    ]
}

/// What names the employees of a task: well, badly, late, and for the third not at all.
fn employees() -> Vec<(&'static str, StoryLine)> {
    let ms = Duration::from_millis;
    vec![
        ("s1.1.employees", StoryLine::say(r#"```json {"look": "Analyst", "write": "Clerk"}```"#)),
        ("s2.1.employees", StoryLine::say("There is nobody.").with_latency(ms(30))),
        ("s4.1.employees", StoryLine::say(r#"{"send": "Courier"}"#).with_latency(ms(200))),
    ]
}

/// A simulation of the story. Looking takes longer than the time between two renewals of a lease.
pub(crate) fn sim(points: Points, ledger: &Ledger) -> Sim {
    sim_with(points, ledger, employees())
}

/// The same with other employees.
pub(crate) fn sim_with(
    points: Points,
    ledger: &Ledger,
    employees: Vec<(&'static str, StoryLine)>,
) -> Sim {
    let lines = lines().into_iter().chain(employees);
    let model = StoryModel::new(lines, points.clone());
    let tool = |name, effect, takes_ms| LedgerTool {
        duration: Duration::from_millis(takes_ms),
        // Processes stand still for longer.
        timeout_ms: 10_000,
        ..LedgerTool::new(name, effect, ledger, &points)
    };
    let tools = Toolbox::default()
        .with_tool(tool("look", EffectClass::Read, 6_000))
        .with_tool(tool("write", EffectClass::Idempotent, 200))
        .with_tool(tool("send", EffectClass::Once, 400));
    Sim::new(model, tools, points)
}

/// What is asked for.
pub(crate) fn settings() -> RunSettings {
    RunSettings { mode: Machine::PlanSolve.into(), ..RunSettings::default() }
}

/// The same with digital employees.
pub(crate) fn with_employees() -> RunSettings {
    let plan = PlanSettings { employees: true, ..PlanSettings::default() };
    RunSettings { plan, ..settings() }
}

/// Tells the story to its end, to a client that asks again.
pub(crate) async fn told(sim: &mut Sim) -> Vec<Entry> {
    told_with(sim, settings()).await
}

/// The same with other settings.
pub(crate) async fn told_with(sim: &mut Sim, settings: RunSettings) -> Vec<Entry> {
    sim.run_to_end(&sim.make_question(settings)).await.unwrap()
}

/// The calls that must not be repeated, as the ledger and the history name them.
pub(crate) const ONCE: [&str; 2] = ["s3.1.t1.c1", "s4.1.t1.c2"];

/// What viewers see besides, where there are employees.
pub(crate) const EMPLOYED: [&str; 2] =
    ["s1.1.employees employs: look Analyst, write Clerk", "s4.1.employees employs: send Courier"];

/// The history of the story.
pub(crate) const TOLD: [&str; 39] = [
    "start started: What is to be done?",
    "t1 says: I plan.",
    r#"t1.c1 calls planning {"command":"create","steps":["gold","silver","tell"],"depends_on":[[],[],[]]}"#,
    "t1.c1.result gets: ",
    "t1.plan plan: gold InProgress, silver InProgress, tell InProgress",
    "s1.1.start task begins: gold",
    "s2.1.start task begins: silver",
    "s3.1.start task begins: tell",
    "s1.1.t1 says: I look for gold.",
    r#"s1.1.t1.c1 calls look {"for":"gold"}"#,
    "s1.1.t1.c1.result gets: look is done",
    "s1.1.t2 says: Gold is dear.",
    "s1.1.end task finished: Gold is dear.",
    "s2.1.t1 says: I note silver.",
    r#"s2.1.t1.c1 calls write {"of":"it"}"#,
    "s2.1.t1.c1.result gets: write is done",
    "s2.1.t2 says: Silver is cheap.",
    "s2.1.end task finished: Silver is cheap.",
    "s3.1.t1 says: I tell them.",
    r#"s3.1.t1.c1 calls send {"to":"all"}"#,
    "s3.1.t1.c1.result gets: send is done",
    "s3.1.t2 says: They know.",
    "s3.1.end task finished: They know.",
    "t2 says: I plan.",
    r#"t2.c1 calls planning {"command":"update","steps":["gold","silver","tell","compare"],"depends_on":[[],[],[],[1,2,3]]}"#,
    "t2.c1.result gets: ",
    "t2.plan plan: gold Completed, silver Completed, tell Completed, compare InProgress",
    "s4.1.start task begins: compare",
    "s4.1.t1 says: I compare and say so.",
    r#"s4.1.t1.c1 calls look {"for":"both"}"#,
    r#"s4.1.t1.c2 calls send {"to":"boss"}"#,
    "s4.1.t1.c1.result gets: look is done",
    "s4.1.t1.c2.result gets: send is done",
    "s4.1.t2 says: Gold is dearer.",
    "s4.1.end task finished: Gold is dearer.",
    "t3 says: I plan.",
    r#"t3.c1 calls planning {"command":"finish"}"#,
    "t3.c1.result gets: ",
    "summary says: Gold is the dearer one.",
];

/// What is seen, in an order of its own (which of the tasks ends first is chance), without the end's
/// figures (a crash costs model calls).
pub(crate) fn seen(entries: &[Entry]) -> Vec<String> {
    let line = |line: String| if line.starts_with("end ") { "end".to_owned() } else { line };
    // A provider may have been waited for.
    let lines = visible(entries).into_iter().filter(|line| !line.contains(".delay"));
    let mut seen: Vec<String> = lines.map(line).collect();
    seen.sort();
    seen
}

/// The same of a run in which nothing went wrong; `uncertain` are the calls that nobody knows of.
pub(crate) fn expected(uncertain: &[&str]) -> Vec<String> {
    let told = TOLD.iter().map(|line| {
        let of = uncertain.iter().find(|call| line.starts_with(&format!("{call}.result")));
        of.map_or((*line).to_owned(), |call| format!("{call}.result fails: uncertain"))
    });
    let steps = (1..=4).map(|step| format!("s{step}.1.step s{step} is Completed"));
    let mut expected: Vec<String> = told.chain(steps).chain(["end".to_owned()]).collect();
    expected.sort();
    expected
}
