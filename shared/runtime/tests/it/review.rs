//! An answer that a reviewer criticizes once and then accepts: in processes that die, in bad weather, and
//! across invocations.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_core::entry::{Entry, Event, RunResult};
use djinn_core::review::{ReviewOutcome, ReviewPolicy};
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

/// The call that must not be repeated, in the turn after the criticism.
const ONCE: &str = "t3.c1";

const DRAFT: &str = "It was found.";
const ANSWER: &str = "It was found and sent.";

fn verdict(word: &str, problems: &[&str]) -> String {
    json!({"verdict": word, "problems": problems, "missing": []}).to_string()
}

fn lines() -> Vec<(&'static str, StoryLine)> {
    let ms = Duration::from_millis;
    vec![
        ("t1", StoryLine::say("I look.").with_call("look", json!({"for": "it"}))),
        ("t2", StoryLine::say(DRAFT).with_latency(ms(70))),
        (
            "review.1.t1",
            StoryLine::say(&verdict("revise", &["It was not sent."])).with_latency(ms(90)),
        ),
        ("t3", StoryLine::say("I send it.").with_call("send", json!({"to": 1}))),
        ("t4", StoryLine::say(ANSWER).with_latency(ms(60))),
        ("review.2.t1", StoryLine::say(&verdict("accept", &[])).with_latency(ms(50))),
    ]
}

fn reviewer() -> Agent {
    let text = json!({"type": "string"});
    let keys = json!({
        "parameters": {
            "type": "object",
            "properties": {"question": text, "answer": text},
            "required": ["question", "answer"],
            "additionalProperties": false,
        },
        "answer": {"json": {"type": "object", "required": ["verdict", "problems"]}},
    });
    Agent::new("reviewer", &keys)
}

fn sim(points: Points, ledger: &Ledger) -> Sim {
    let tool = |name, effect, takes_ms| LedgerTool {
        duration: Duration::from_millis(takes_ms),
        ..LedgerTool::new(name, effect, ledger, &points)
    };
    let tools = Toolbox::default()
        .with_tool(tool("look", EffectClass::Read, 300))
        .with_tool(tool("send", EffectClass::Once, 400))
        .with_tool(reviewer());
    Sim::new(StoryModel::new(lines(), points.clone()), tools, points)
}

fn question(sim: &Sim) -> UserQuestion {
    let mut question = sim.make_question(RunSettings::default());
    question.spec.review = Some(ReviewPolicy { agent: "reviewer".to_owned(), rounds: 2 });
    question
}

async fn told(sim: &mut Sim) -> Vec<Entry> {
    let question = question(sim);
    sim.run_to_end(&question).await.unwrap()
}

fn result(entries: &[Entry]) -> &RunResult {
    entries.iter().find_map(|entry| entry.event.run_result()).unwrap()
}

/// The lines of a history, in a fixed order.
fn sorted(entries: &[Entry]) -> BTreeSet<String> {
    visible(entries).into_iter().collect()
}

#[tokio::test(start_paused = true)]
async fn criticized_answer_is_revised_and_accepted() {
    let ledger = Ledger::default();
    let mut sim = sim(Points::new(), &ledger);
    let entries = told(&mut sim).await;
    let seen = visible(&entries);
    for line in [
        "review.1.start task begins:",
        "review.1.t1 says: {",
        "review.1.reviewed is criticized: It was not sent.",
        "t2.rejected t2 is not accepted",
        "review.2.reviewed is accepted",
    ] {
        assert!(seen.iter().any(|seen| seen.starts_with(line)), "{line}: {seen:#?}");
    }
    let end = result(&entries);
    assert_eq!((end.answer.as_str(), end.review), (ANSWER, Some(ReviewOutcome::Accepted)));
    assert_eq!(ledger.count(&format!("send {ONCE}")), 1);
    assert_eq!(end.spent.model_calls, 6, "four turns and two reviews");
}

#[tokio::test(start_paused = true)]
async fn missing_reviewer_leaves_the_answer_as_it_is() {
    let ledger = Ledger::default();
    let mut sim = sim(Points::new(), &ledger);
    let mut question = question(&sim);
    question.spec.review = Some(ReviewPolicy { agent: "nobody".to_owned(), rounds: 1 });
    let entries = sim.run_to_end(&question).await.unwrap();
    let end = result(&entries);
    assert_eq!((end.status, end.answer.as_str()), (RunStatus::Finished, DRAFT));
    assert_eq!(end.review, Some(ReviewOutcome::NotReviewed));
    let failure = entries.iter().find_map(|entry| match &entry.event {
        Event::ReviewCompleted(result) => result.failure.as_ref().map(ToString::to_string),
        _ => None,
    });
    assert_eq!(failure.unwrap(), "agent_unusable: `nobody`: unknown_tool");
}

#[tokio::test(start_paused = true)]
async fn death_at_any_point_reviews_once() {
    let points = Points::new();
    let expected = sorted(&told(&mut sim(points.clone(), &Ledger::default())).await);
    let names = points.point_names();
    assert!(names.len() > 40, "{} points", names.len());
    for (at, name) in names.iter().enumerate() {
        let ledger = Ledger::default();
        let mut sim = sim(Points::killing_at(at), &ledger);
        let seen = sorted(&told(&mut sim).await);
        let sent = ledger.count(&format!("send {ONCE}"));
        let is_uncertain = seen.contains(&format!("{ONCE}.result fails: uncertain"));
        assert!(sent == 1 || is_uncertain, "sent {sent} times when killed at {at}, {name}");
        if !is_uncertain {
            assert_eq!(seen, expected, "killed at {at}, {name}");
        }
        assert!(!sim.has_alarm(), "an alarm is left when killed at {at}, {name}");
    }
}

#[tokio::test(start_paused = true)]
async fn run_that_goes_to_another_invocation_after_each_step_is_reviewed_once() {
    let expected = sorted(&told(&mut sim(Points::new(), &Ledger::default())).await);
    for copies in [1, 2] {
        let ledger = Ledger::default();
        let mut sim = sim(Points::new(), &ledger);
        sim.invocation = Some(Duration::from_secs(3));
        sim.kick_copies = copies;
        let hand_over_margin = Duration::from_secs(1);
        sim.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
        assert_eq!(sorted(&told(&mut sim).await), expected, "each kick {copies} times");
        assert_eq!(ledger.count(&format!("send {ONCE}")), 1);
    }
}

/// Whether the answer was accepted in the weather of a seed, which then looks as in good weather.
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
    let end = result(&entries);
    let ids = |lines: &BTreeSet<String>| -> BTreeSet<String> {
        let is_lasting =
            |id: &&str| [".reset", ".delay", "resumed."].iter().all(|word| !id.contains(word));
        let ids = lines.iter().filter_map(|line| line.split(' ').next()).filter(is_lasting);
        ids.map(str::to_owned).collect()
    };
    let is_accepted = end.review == Some(ReviewOutcome::Accepted);
    if is_accepted {
        assert_eq!(ids(&sorted(&entries)), ids(expected), "seed {seed}");
        assert_eq!(end.answer, ANSWER, "seed {seed}");
    } else if end.status == RunStatus::Finished {
        assert!([DRAFT, ANSWER].contains(&end.answer.as_str()), "seed {seed}: {end:?}");
    }
    assert!(ledger.count(&format!("send {ONCE}")) <= 1, "seed {seed}");
    is_accepted
}

#[test]
fn review_in_bad_weather_ends_as_in_good() {
    let run = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap()
    };
    let good = run().block_on(async { told(&mut sim(Points::new(), &Ledger::default())).await });
    let good = sorted(&good);
    let accepted = (0..60).filter(|seed| run().block_on(endure(*seed, &good))).count();
    assert!((30..=60).contains(&accepted), "{accepted} of 60 were accepted");
}
