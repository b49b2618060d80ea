//! An agent that hands its run over to another, in the middle of the run: in processes that die, in bad
//! weather, and across invocations.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_core::agent::AgentSpec;
use djinn_core::entry::Entry;
use djinn_core::language::Language;
use djinn_core::settings::{Machine, RunSettings};
use djinn_core::status::RunStatus;
use djinn_core::tool::{EffectClass, ToolOutput, ToolPolicy, ToolSpec};
use djinn_runtime::port::tool::{BoxFuture, Tool, ToolContext, ToolError, Toolbox};
use djinn_runtime::question::UserQuestion;
use djinn_runtime::settings::Settings;
use djinn_testkit::chaos::Chaos;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::{Fate, Points};
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::{Map, Value, json};

use crate::story::visible;

/// An agent with a file.
pub(crate) struct Agent(pub(crate) AgentSpec);

impl Agent {
    pub(crate) fn new(name: &str, keys: &Value) -> Self {
        let mut file = json!({
            "name": name, "description": name, "prompt": "Do it.", "model": "executor", "max_steps": 50,
            "parameters": {"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]},
        });
        file.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        Self(serde_json::from_value(file).unwrap())
    }
}

impl Tool for Agent {
    fn spec(&self, _: Language) -> ToolSpec {
        ToolSpec {
            name: self.0.name.clone(),
            description: self.0.description.clone(),
            schema: self.0.parameters.clone(),
            effect: EffectClass::Agent,
            policy: ToolPolicy::default(),
            timeout_ms: u64::MAX,
            visible: true,
        }
    }

    fn run<'a>(
        &'a self,
        _: &'a ToolContext,
        _: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { panic!("an agent is not run") })
    }

    fn check_arguments(&self, _: &Map<String, Value>) -> Result<(), String> {
        Ok(())
    }

    fn agent(&self, _: Language) -> Option<AgentSpec> {
        Some(self.0.clone())
    }
}

fn router() -> Agent {
    Agent::new("router", &json!({"tools": ["look"], "hands_over": ["planner"]}))
}

/// The router looks and hands over in one turn; the planner has one step, which sends.
fn lines() -> Vec<(&'static str, StoryLine)> {
    let ms = Duration::from_millis;
    vec![
        (
            "t1",
            StoryLine::say("A plan is due.")
                .with_call("look", json!({"for": "it"}))
                .with_call("planner", json!({})),
        ),
        (
            "t2",
            StoryLine::say("One step.").with_latency(ms(70)).with_call(
                "planning",
                json!({"command": "create", "title": "It", "steps": ["Send it"]}),
            ),
        ),
        ("s1.1.t1", StoryLine::say("I send.").with_call("send", json!({"to": 1}))),
        ("s1.1.t2", StoryLine::say("It is sent.").with_latency(ms(60))),
        ("t3", StoryLine::say("").with_call("planning", json!({"command": "finish"}))),
        ("summary", StoryLine::say("All is sent.").with_latency(ms(80))),
    ]
}

fn sim(points: Points, ledger: &Ledger) -> Sim {
    let tool = |name, effect, takes_ms| LedgerTool {
        duration: Duration::from_millis(takes_ms),
        ..LedgerTool::new(name, effect, ledger, &points)
    };
    let planner = Agent::new("planner", &json!({"mode": "plan_solve", "tools": ["send"]}));
    let tools = Toolbox::default()
        .with_tool(tool("look", EffectClass::Read, 300))
        .with_tool(tool("send", EffectClass::Once, 400))
        .with_tool(planner);
    Sim::new(StoryModel::new(lines(), points.clone()), tools, points)
}

fn question(sim: &Sim) -> UserQuestion {
    let mut question = sim.make_question(RunSettings::default());
    question.spec = question.spec.with_agent(router().0);
    question
}

async fn told(sim: &mut Sim) -> Vec<Entry> {
    let question = question(sim);
    sim.run_to_end(&question).await.unwrap()
}

/// The lines of a history, in a fixed order.
fn sorted(entries: &[Entry]) -> BTreeSet<String> {
    visible(entries).into_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn next_agent_answers_as_the_run_itself() {
    let ledger = Ledger::default();
    let mut sim = sim(Points::new(), &ledger);
    let seen = visible(&told(&mut sim).await);
    for line in [
        "t1 says: A plan is due.",
        "t1.c2.result gets:",
        "t1.c2.agent hands over to planner",
        "summary says: All is sent.",
    ] {
        assert!(seen.iter().any(|seen| seen.starts_with(line)), "{line}: {seen:#?}");
    }
    assert!(seen.last().unwrap().starts_with("end finished: All is sent."), "{seen:#?}");
    assert_eq!(ledger.count("send s1.1.t1.c1"), 1);
    let key = question(&sim).run_key();
    let records = djinn_runtime::port::journal::Journals::read_from(&*sim.ports.store, &key, 0);
    let run = djinn_core::journal::Journal::fold(&records.await.unwrap()).unwrap();
    assert_eq!(run.run().spec().machine(), Machine::PlanSolve);
}

#[tokio::test(start_paused = true)]
async fn death_at_any_point_hands_over_once() {
    let points = Points::new();
    let expected = sorted(&told(&mut sim(points.clone(), &Ledger::default())).await);
    let names = points.point_names();
    assert!(names.len() > 40, "{} points", names.len());
    for (at, name) in names.iter().enumerate() {
        let ledger = Ledger::default();
        let mut sim = sim(Points::killing_at(at), &ledger);
        let seen = sorted(&told(&mut sim).await);
        let sent = ledger.count("send s1.1.t1.c1");
        let is_uncertain = seen.contains("s1.1.t1.c1.result fails: uncertain");
        assert!(sent == 1 || is_uncertain, "sent {sent} times when killed at {at}, {name}");
        if !is_uncertain {
            assert_eq!(seen, expected, "killed at {at}, {name}");
        }
        assert!(!sim.has_alarm(), "an alarm is left when killed at {at}, {name}");
    }
}

#[tokio::test(start_paused = true)]
async fn run_that_goes_to_another_invocation_after_each_step_hands_over_once() {
    let expected = sorted(&told(&mut sim(Points::new(), &Ledger::default())).await);
    for copies in [1, 2] {
        let ledger = Ledger::default();
        let mut sim = sim(Points::new(), &ledger);
        sim.invocation = Some(Duration::from_secs(3));
        sim.kick_copies = copies;
        let hand_over_margin = Duration::from_secs(1);
        sim.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
        assert_eq!(sorted(&told(&mut sim).await), expected, "each kick {copies} times");
        let kicks = sim.points.point_names().iter().filter(|name| *name == "after kick").count();
        assert!(kicks >= 3, "only {kicks} handoffs");
        assert_eq!(ledger.count("send s1.1.t1.c1"), 1);
    }
}

/// Whether the run finished in the weather of a seed, which then looks as in good weather.
async fn endure(seed: u64, expected: &BTreeSet<String>) -> bool {
    let chaos = Chaos::of(seed);
    let weather = chaos.clone();
    let points = Points::with_decision(move |_, point| match point.process {
        0 => Fate::Passes,
        _ => weather.draw_fate(),
    });
    let ledger = Ledger::default();
    let mut sim = sim(points, &ledger);
    let question = question(&sim);
    let ended = sim.endure_chaos(&question, &chaos).await;
    assert_eq!(ended, Ok(()), "seed {seed}");
    let entries = sim.read_history(&question.run_key()).await.unwrap();
    let end = entries.iter().find_map(|entry| entry.event.run_result()).unwrap();
    let has_finished = end.status == RunStatus::Finished;
    let ids = |lines: &BTreeSet<String>| -> BTreeSet<String> {
        let is_lasting = |id: &&str| !id.contains(".reset") && !id.contains(".delay");
        lines
            .iter()
            .filter_map(|line| line.split(' ').next())
            .filter(is_lasting)
            .map(str::to_owned)
            .collect()
    };
    if has_finished {
        assert_eq!(ids(&sorted(&entries)), ids(expected), "seed {seed}");
    }
    assert!(ledger.count("send s1.1.t1.c1") <= 1, "seed {seed}");
    has_finished
}

#[test]
fn run_in_bad_weather_hands_over_as_in_good() {
    let run = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap()
    };
    let good = run().block_on(async { told(&mut sim(Points::new(), &Ledger::default())).await });
    let good = sorted(&good);
    let finished = (0..60).filter(|seed| run().block_on(endure(*seed, &good))).count();
    assert!((30..60).contains(&finished), "{finished} of 60 finished");
}
