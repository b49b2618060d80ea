//! A model that cannot answer and one that does in its place, with a process that dies at any point.

use std::time::Duration;

use djinn_core::budget::Usage;
use djinn_core::entry::{Entry, Event};
use djinn_core::settings::{ModelChoice, RunSettings};
use djinn_runtime::port::model::ModelErrorKind;
use djinn_runtime::settings::Settings;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};

use crate::crash::sorted;
use crate::story::{self, TOLD, UNCERTAIN, visible};

/// The story, with a model that is refuses a key at its second message and breaks off at its third.
fn sim(points: Points, ledger: &Ledger, sent: usize) -> (Sim, StoryModel) {
    sim_of(points, ledger, sent, |model| model)
}

/// What an attempt costs that fails.
const BILLED: Usage =
    Usage { input_tokens: 100, output_tokens: 0, cached_tokens: 0, took_ms: 5, micro_usd: 0 };

fn sim_of(
    points: Points,
    ledger: &Ledger,
    sent: usize,
    change: impl FnOnce(StoryModel) -> StoryModel,
) -> (Sim, StoryModel) {
    let lines = story::lines().into_iter().map(|(message, line): (&'static str, StoryLine)| {
        let line = match message {
            "t2" => line.down_after(sent, ModelErrorKind::KeyRefused),
            "t3" => line.down_after(sent, ModelErrorKind::BrokenOff),
            _ => line,
        };
        (message, line.with_usage(BILLED))
    });
    let model = change(StoryModel::new(lines, points.clone()).with_fallback(50_000));
    let tools = story::tools(ledger, &points);
    (Sim::new(model.clone(), tools, points), model)
}

/// Invocations so short that no model call fits into one that has done anything before.
fn short_lived(sim: &mut Sim) {
    sim.invocation = Some(Duration::from_secs(3));
    let hand_over_margin = Duration::from_secs(1);
    sim.ports.settings = Settings { hand_over_margin, ..Settings::default() }.into();
}

/// The calls as the models were asked them.
fn asked(model: &StoryModel) -> Vec<String> {
    let call = |request: &djinn_runtime::port::model::ModelRequest| {
        let message = request.call.split('/').nth(1).unwrap_or_default();
        let by = if request.choice == ModelChoice::Primary { "" } else { " backup" };
        format!("{message}{by}")
    };
    model.requests().iter().map(call).collect()
}

const CALLS: [&str; 7] = ["t1", "t2", "t2 backup", "t3", "t3", "t3", "t3 backup"];

async fn told(sim: &mut Sim) -> Vec<Entry> {
    sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap()
}

/// What is seen, without the end's figures and without attempts that are void: a crash makes others.
fn seen(entries: &[Entry]) -> Vec<String> {
    let lines = visible(entries).into_iter().filter(|line| !line.contains(".reset"));
    let end = |line: String| line.split(" (").next().unwrap_or_default().to_owned();
    sorted(&lines.map(end).collect::<Vec<_>>())
}

fn expected(told: &[&str]) -> Vec<String> {
    let changed = [
        "t2.model1 backup in place of story: model_key_refused",
        "t3.model1 backup in place of story: model_unreachable",
    ];
    let lines = told.iter().copied().chain(changed);
    let lines = lines.map(|line| line.split(" (").next().unwrap_or_default());
    sorted(&lines.collect::<Vec<_>>())
}

#[tokio::test(start_paused = true)]
async fn each_call_begins_with_the_first_model_and_ends_with_the_one_that_answers() {
    for sent in [0, 8] {
        let (mut sim, model) = sim(Points::new(), &Ledger::default(), sent);
        assert_eq!(seen(&told(&mut sim).await), expected(&TOLD), "{sent}");
        assert_eq!(asked(&model), CALLS, "{sent}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_model_is_replaced_survives_a_crash_at_every_point() {
    for sent in [0, 8] {
        let points = Points::new();
        let (mut calm, _) = sim(points.clone(), &Ledger::default(), sent);
        told(&mut calm).await;
        let names = points.point_names();
        for (at, name) in names.iter().enumerate() {
            let ledger = Ledger::default();
            let (mut sim, _) = sim(Points::killing_at(at), &ledger, sent);
            let seen = seen(&told(&mut sim).await);
            let is_uncertain = seen.iter().any(|line| line.contains("fails: uncertain"));
            let story = if is_uncertain { UNCERTAIN } else { TOLD };
            assert_eq!(seen, expected(&story), "killed at {at}, {name}, after {sent} bytes");
            assert!(ledger.count("send t2.c1") <= 1, "sent twice when killed at {at}, {name}");
            assert!(!sim.has_alarm(), "an alarm is left when killed at {at}, {name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn retries_and_the_fallback_are_counted_on_over_any_number_of_hand_overs() {
    for sent in [0, 8] {
        let (mut calm, model) = sim(Points::new(), &Ledger::default(), sent);
        short_lived(&mut calm);
        assert_eq!(seen(&told(&mut calm).await), expected(&TOLD), "{sent}");
        assert_eq!(asked(&model), CALLS, "{sent}");
        let names = calm.points.point_names();
        let kicks = names.iter().filter(|name| *name == "after kick").count();
        assert!((5..=12).contains(&kicks), "{kicks} hand-overs");
        for (at, name) in names.iter().enumerate() {
            let ledger = Ledger::default();
            let (mut sim, _) = sim(Points::killing_at(at), &ledger, sent);
            short_lived(&mut sim);
            let seen = seen(&told(&mut sim).await);
            let is_uncertain = seen.iter().any(|line| line.contains("fails: uncertain"));
            let story = if is_uncertain { UNCERTAIN } else { TOLD };
            assert_eq!(seen, expected(&story), "killed at {at}, {name}, after {sent} bytes");
            assert!(ledger.count("send t2.c1") <= 1, "sent twice when killed at {at}, {name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_run_pays_for_failed_attempts_whichever_model_writes_the_message() {
    for (sent, short) in [(0, false), (8, false), (0, true), (8, true)] {
        let (mut sim, _) = sim(Points::new(), &Ledger::default(), sent);
        if short {
            short_lived(&mut sim);
        }
        let entries = told(&mut sim).await;
        let Some(Event::RunEnded(ending)) = entries.last().map(|entry| &entry.event) else {
            panic!("{entries:#?}")
        };
        // Three messages, and four attempts that failed.
        assert_eq!(ending.spent.usage.input_tokens, 700, "{sent} {short}");
    }
    // A model that answers after all.
    let points = Points::new();
    let line =
        StoryLine::say("So.").failing_after(0, ModelErrorKind::Overloaded).with_usage(BILLED);
    let model = StoryModel::new([("t1", line)], points.clone());
    let tools = story::tools(&Ledger::default(), &points);
    let entries = told(&mut Sim::new(model, tools, points)).await;
    let Some(Event::RunEnded(ending)) = entries.last().map(|entry| &entry.event) else {
        panic!("{entries:#?}")
    };
    assert_eq!(ending.spent.usage.input_tokens, 200);
}

/// Without why `t3` was left to the other model: whoever remembers `t2` does not ask its own.
fn without_why(mut lines: Vec<String>) -> Vec<String> {
    for line in lines.iter_mut().filter(|line| line.starts_with("t3.model1")) {
        line.truncate(line.find(':').unwrap_or(line.len()));
    }
    lines
}

#[tokio::test(start_paused = true)]
async fn a_process_that_remembers_an_outage_may_die_at_every_point() {
    let points = Points::new();
    let remembers = StoryModel::with_outages;
    let (mut calm, model) = sim_of(points.clone(), &Ledger::default(), 0, remembers);
    let lines = seen(&told(&mut calm).await);
    assert_eq!(asked(&model), ["t1", "t2", "t2 backup", "t3 backup"]);
    let changed = "t3.model1 backup in place of story: model_key_refused";
    assert!(lines.iter().any(|line| line == changed), "{lines:#?}");
    for (at, name) in points.point_names().iter().enumerate() {
        let (mut sim, _) = sim_of(Points::killing_at(at), &Ledger::default(), 0, remembers);
        let seen = seen(&told(&mut sim).await);
        let is_uncertain = seen.iter().any(|line| line.contains("fails: uncertain"));
        let story = if is_uncertain { UNCERTAIN } else { TOLD };
        let (seen, expected) = (without_why(seen), without_why(expected(&story)));
        assert_eq!(seen, expected, "killed at {at}, {name}");
        assert!(!sim.has_alarm(), "an alarm is left when killed at {at}, {name}");
    }
}
