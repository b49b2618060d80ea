//! An ensemble with a solver that fails: in processes that die, in bad weather, and across invocations.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::settings::RunSettings;
use djinn_core::status::RunStatus;
use djinn_core::tool::EffectClass;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::question::UserQuestion;
use djinn_runtime::settings::Settings;
use djinn_testkit::chaos::Chaos;
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::{Fate, Points};
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

use crate::next_agent::Agent;
use crate::story::visible;

const CALL: &str = "before.c2.t1.c1";

fn critic() -> Agent {
    let before = ["looker", "sender", "weak"];
    Agent::new("critic", &json!({"tools": ["give_verdict"], "before": before, "entry": true}))
}

/// One solver looks, one sends, and one uses up its only turn. The critic merges two answers.
fn lines() -> Vec<(&'static str, StoryLine)> {
    let ms = Duration::from_millis;
    let score = |letter: &str| json!({"letter": letter, "score": 50, "reason": "It is short."});
    let verdict = json!({"scores": [score("A"), score("B")], "choice": "merged"});
    vec![
        ("before.c1.t1", StoryLine::say("I look.").with_call("look", json!({"for": "it"}))),
        ("before.c1.t2", StoryLine::say("I saw it.").with_latency(ms(60))),
        ("before.c2.t1", StoryLine::say("I send.").with_call("send", json!({"to": 1}))),
        ("before.c2.t2", StoryLine::say("It is sent.").with_latency(ms(90))),
        ("before.c3.t1", StoryLine::say("").with_call("look", json!({"for": "more"}))),
        ("t1", StoryLine::say("").with_latency(ms(50)).with_call("give_verdict", verdict)),
        ("t2", StoryLine::say("It was seen and sent.").with_latency(ms(80))),
    ]
}

fn sim(points: Points, ledger: &Ledger) -> Sim {
    let tool = |name, effect, takes_ms| LedgerTool {
        duration: Duration::from_millis(takes_ms),
        ..LedgerTool::new(name, effect, ledger, &points)
    };
    let tools = Toolbox::default()
        .with_tool(tool("look", EffectClass::Read, 300))
        .with_tool(tool("send", EffectClass::Once, 400))
        .with_tool(Agent::new("looker", &json!({"tools": ["look"]})))
        .with_tool(Agent::new("sender", &json!({"tools": ["send"]})))
        .with_tool(Agent::new("weak", &json!({"tools": ["look"], "max_steps": 1})));
    Sim::new(StoryModel::new(lines(), points.clone()), tools, points)
}

fn question(sim: &Sim) -> UserQuestion {
    let mut question = sim.make_question(RunSettings::default());
    question.spec = question.spec.with_agent(critic().0);
    question
}

async fn told(sim: &mut Sim) -> Vec<Entry> {
    let question = question(sim);
    sim.run_to_end(&question).await.unwrap()
}

fn sorted(entries: &[Entry]) -> BTreeSet<String> {
    visible(entries).into_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn solver_that_fails_is_reported_and_the_others_are_judged() {
    let ledger = Ledger::default();
    let entries = told(&mut sim(Points::new(), &ledger)).await;
    let seen = visible(&entries);
    assert!(seen.iter().any(|line| line == "t1.c1.verdict chooses none"), "{seen:#?}");
    assert!(seen.last().unwrap().starts_with("end finished: It was seen and sent."), "{seen:#?}");
    let ends = entries.iter().filter_map(|entry| match &entry.event {
        Event::ChildEnded { child, status, .. } => Some((child.to_string(), *status)),
        _ => None,
    });
    let ends: BTreeSet<_> = ends.map(|(child, status)| (child, status.as_str())).collect();
    let expected = [("before.c1", "finished"), ("before.c2", "finished"), ("before.c3", "failed")];
    assert_eq!(ends, expected.map(|(child, status)| (child.to_owned(), status)).into());
    assert_eq!(ledger.count(&format!("send {CALL}")), 1);
}

#[tokio::test(start_paused = true)]
async fn death_at_any_point_leaves_one_verdict() {
    for (posts, one_machine) in [(false, false), (false, true), (true, false)] {
        let points = Points::new();
        let mut undisturbed = sim(points.clone(), &Ledger::default());
        (undisturbed.posts_only, undisturbed.one_machine) = (posts, one_machine);
        let expected = sorted(&told(&mut undisturbed).await);
        let names = points.point_names();
        assert!(names.len() > 60, "{} points", names.len());
        for (at, name) in names.iter().enumerate() {
            let ledger = Ledger::default();
            let mut sim = sim(Points::killing_at(at), &ledger);
            (sim.posts_only, sim.one_machine) = (posts, one_machine);
            let seen = sorted(&told(&mut sim).await);
            let sent = ledger.count(&format!("send {CALL}"));
            let is_uncertain = seen.contains(&format!("{CALL}.result fails: uncertain"));
            assert!(sent == 1 || is_uncertain, "sent {sent} times when killed at {at}, {name}");
            let verdicts = seen.iter().filter(|line| line.contains(".verdict ")).count();
            assert_eq!(verdicts, 1, "killed at {at}, {name}: {seen:#?}");
            if !is_uncertain {
                let missing: Vec<_> = expected.difference(&seen).collect();
                assert!(missing.is_empty(), "killed at {at}, {name}: {missing:?}");
            }
            assert!(!sim.has_alarm(), "an alarm is left when killed at {at}, {name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ensemble_that_goes_to_another_invocation_after_each_step_has_one_verdict() {
    let expected = sorted(&told(&mut sim(Points::new(), &Ledger::default())).await);
    for copies in [1, 2] {
        let ledger = Ledger::default();
        let mut sim = sim(Points::new(), &ledger);
        sim.invocation = Some(Duration::from_secs(3));
        sim.kick_copies = copies;
        let hand_over_margin = Duration::from_secs(1);
        sim.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
        assert_eq!(sorted(&told(&mut sim).await), expected, "each kick {copies} times");
        assert_eq!(ledger.count(&format!("send {CALL}")), 1);
    }
}

/// Whether the run finished in the weather of a seed. It then has one verdict.
async fn endure(seed: u64) -> bool {
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
    let is_verdict = |entry: &&Entry| matches!(entry.event, Event::VerdictGiven(_));
    let verdicts = entries.iter().filter(is_verdict).count();
    assert!(verdicts <= 1, "seed {seed}: {verdicts} verdicts");
    assert!(ledger.count(&format!("send {CALL}")) <= 1, "seed {seed}");
    has_finished && verdicts == 1
}

#[test]
fn ensemble_in_bad_weather_has_one_verdict() {
    let run = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap()
    };
    let finished = (0..60).filter(|seed| run().block_on(endure(*seed))).count();
    assert!((30..=60).contains(&finished), "{finished} of 60 finished with a verdict");
}
