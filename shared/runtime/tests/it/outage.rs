//! Providers that fail for a while: every run waits for them, at no cost, and finishes.

use std::time::Duration;

use djinn_core::entry::{Entry, Event};
use djinn_core::human::HumanResponse;
use djinn_core::settings::{Machine, PlanSettings, RunSettings};
use djinn_runtime::port::clock::Clock;
use djinn_runtime::port::model::ModelErrorKind;
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::settings::{OutagePolicy, Settings};
use djinn_testkit::ledger::Ledger;
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::json;

use crate::crash::sorted;
use crate::story::{self, TOLD, UNCERTAIN, visible};

const MINUTE: Duration = Duration::from_secs(60);

/// A model that plans `tasks` at once.
fn planner(tasks: usize, points: &Points) -> StoryModel {
    let names: Vec<String> = (1..=tasks).map(|n| format!("task {n}")).collect();
    let none = vec![json!([]); tasks];
    let plan = json!({"command": "create", "steps": names, "depends_on": none});
    let finish = json!({"command": "finish"});
    let messages: Vec<String> = (1..=tasks).map(|n| format!("s{n}.1.t1")).collect();
    let mut lines = vec![
        ("t1", StoryLine::say("I plan.").with_call("planning", plan)),
        ("t2", StoryLine::say("Done.").with_call("planning", finish)),
        ("summary", StoryLine::say("All of it is done.")),
    ];
    lines.extend(messages.iter().map(|message| (message.as_str(), StoryLine::say("It is done."))));
    StoryModel::new(lines, points.clone())
}

fn planned() -> RunSettings {
    RunSettings { mode: Machine::PlanSolve.into(), ..RunSettings::default() }
}

fn delays(entries: &[Entry]) -> Vec<i64> {
    let delay = |entry: &Entry| match &entry.event {
        Event::ModelDelayed { until_ms, .. } => Some(until_ms - entry.at_ms),
        _ => None,
    };
    entries.iter().filter_map(delay).collect()
}

fn last(entries: &[Entry]) -> String {
    visible(entries).pop().unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_a_minute_is_waited_out_and_viewers_are_told_until_when() {
    let points = Points::new();
    let model = StoryModel::new(story::lines(), points.clone())
        .down_for(MINUTE, ModelErrorKind::Overloaded);
    let mut sim = Sim::new(model.clone(), story::tools(&Ledger::default(), &points), points);
    let began_ms = sim.ports.clock.now_ms();
    let entries = sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    let seen = visible(&entries);
    assert!(last(&entries).starts_with("end finished: It was looked up and sent."), "{seen:#?}");
    // Nothing is taken back: no attempt sent anything.
    assert!(!seen.iter().any(|line| line.contains("reset")), "{seen:#?}");
    // 1, 2, 4 and 8 s are held; then 16 s and more release the run.
    let delays = delays(&entries);
    assert_eq!(delays, [13_000, 29_000, 57_000]);
    assert!(model.requests().len() <= 10, "{}", model.requests().len());
    let took_s = (entries.last().unwrap().at_ms - began_ms) / 1_000;
    assert!((60..=200).contains(&took_s), "{took_s} s");
}

#[tokio::test(start_paused = true)]
async fn ten_tasks_at_once_outlive_an_outage_and_so_does_the_summary() {
    let points = Points::new();
    let model = planner(10, &points).down_for(MINUTE, ModelErrorKind::Unreachable);
    let mut sim = Sim::new(model, Toolbox::default(), points);
    let entries = sim.run_to_end(&sim.make_question(planned())).await.unwrap();
    assert!(last(&entries).starts_with("end finished: All of it is done."));

    // The outage begins with the tasks, and another with the summary.
    let kind = ModelErrorKind::Overloaded;
    let points = Points::new();
    let failing = |line: StoryLine| (0..9).fold(line, |line, _| line.failing_after(0, kind));
    let model = planner(10, &points).with_lines(|message, line| match message {
        "t1" | "t2" => line,
        _ => failing(line),
    });
    let mut sim = Sim::new(model, Toolbox::default(), points);
    let began_ms = sim.ports.clock.now_ms();
    let entries = sim.run_to_end(&sim.make_question(planned())).await.unwrap();
    let seen = visible(&entries);
    assert!(last(&entries).starts_with("end finished: All of it is done."), "{seen:#?}");
    let done = seen.iter().filter(|line| line.ends_with("task finished: It is done.")).count();
    assert_eq!(done, 10, "{seen:#?}");
    let took_s = (entries.last().unwrap().at_ms - began_ms) / 1_000;
    assert!(took_s < 1_500, "{took_s} s");
}

/// Twenty tasks at a provider that takes five calls in ten seconds: four windows and the planner's and the summary's.
#[tokio::test(start_paused = true)]
async fn calls_of_one_process_learn_a_rate_limit_from_each_other() {
    let points = Points::new();
    let model = planner(20, &points).with_rate(5, Duration::from_secs(10));
    let mut sim = Sim::new(model.clone(), Toolbox::default(), points);
    let plan = PlanSettings { max_parallel_tasks: 20, ..PlanSettings::default() };
    let settings = RunSettings { plan, ..planned() };
    let entries = sim.run_to_end(&sim.make_question(settings)).await.unwrap();
    assert!(last(&entries).starts_with("end finished: All of it is done."));
    let refused = model.requests().len() - 23;
    assert!(refused <= 8, "{refused} calls were refused");
}

#[tokio::test(start_paused = true)]
async fn an_hour_is_slept_through_with_a_wake_a_minute_and_without_an_alarm() {
    let points = Points::new();
    let model = StoryModel::new(story::lines(), points.clone())
        .down_for(60 * MINUTE, ModelErrorKind::Overloaded);
    let mut sim = Sim::new(model.clone(), story::tools(&Ledger::default(), &points), points);
    let outages = OutagePolicy { patience: 120 * MINUTE, ..OutagePolicy::DEFAULT };
    sim.ports.settings = Settings { outages, ..Settings::default() }.into();
    let question = sim.make_question(RunSettings::default());
    sim.post_question(question.clone());
    for _ in 0..65 * 60 {
        sim.pass_time(Duration::from_secs(1)).await;
        sim.ring_timers();
    }
    let entries = sim.read_history(&question.run_key()).await.unwrap();
    assert!(last(&entries).starts_with("end finished:"), "{:#?}", visible(&entries));
    let Event::RunEnded(ending) = &entries.last().unwrap().event else { panic!("no end") };
    // The attempts that failed cost nothing.
    assert_eq!(ending.spent.model_calls, 3);
    assert!(sim.invocation_count() <= 70, "{} invocations", sim.invocation_count());
    assert!(sim.alive_count() == 0 && !sim.has_alarm());
}

#[tokio::test(start_paused = true)]
async fn after_the_patience_people_are_asked_and_then_the_same_call_is_made_again() {
    let points = Points::new();
    let model = StoryModel::new(story::lines(), points.clone())
        .down_for(20 * MINUTE, ModelErrorKind::Unreachable);
    let mut sim = Sim::new(model, story::tools(&Ledger::default(), &points), points);
    let answer = |_: &_| HumanResponse::Confirm;
    sim.person = Some(answer);
    let entries = sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    let seen = visible(&entries);
    assert!(seen.iter().any(|line| line == "t1.again1.requested asks t1: t1.again1"), "{seen:#?}");
    assert!(last(&entries).starts_with("end finished:"), "{seen:#?}");
    let asked_at = |entry: &&Entry| matches!(entry.event, Event::HumanRequested { .. });
    let asked = entries.iter().find(asked_at).unwrap();
    let waited = Duration::from_millis((asked.at_ms - entries[0].at_ms).unsigned_abs());
    assert!((13 * MINUTE..=15 * MINUTE).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn attempts_that_break_off_in_sight_are_paid_for_so_people_are_asked_after_six() {
    let kind = ModelErrorKind::BrokenOff;
    let line = (0..6).fold(StoryLine::say("Hello"), |line, _| line.failing_after(3, kind));
    let points = Points::new();
    let model = StoryModel::new([("t1", line)], points.clone());
    let mut sim = Sim::new(model.clone(), Toolbox::default(), points);
    sim.person = Some(|_| HumanResponse::Confirm);
    let entries = sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
    let seen = visible(&entries);
    assert_eq!(seen.iter().filter(|line| line.contains("reset")).count(), 6, "{seen:#?}");
    assert!(seen.iter().any(|line| line.starts_with("t1.again1.requested")), "{seen:#?}");
    assert_eq!(model.requests().len(), 7);
    assert!(last(&entries).starts_with("end finished: Hello"), "{seen:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_is_stopped_at_once() {
    let points = Points::new();
    let model = planner(3, &points).down_for(600 * MINUTE, ModelErrorKind::Overloaded);
    let mut sim = Sim::new(model, Toolbox::default(), points);
    let at_ms = sim.ports.clock.now_ms() + 5 * 60 * 1_000;
    sim.stop_at = Some((at_ms, 1));
    let entries = sim.run_to_end(&sim.make_question(planned())).await.unwrap();
    assert!(last(&entries).starts_with("end stopped:"), "{:#?}", visible(&entries));
    assert!(entries.last().unwrap().at_ms - at_ms < 30_000);
}

/// The story, with a provider that is down for the second message until it was asked seven times.
fn interrupted(points: &Points, ledger: &Ledger) -> Sim {
    let lines = story::lines().into_iter().map(|(message, line): (&'static str, StoryLine)| {
        let fails = if message == "t2" { 7 } else { 0 };
        let kind = ModelErrorKind::Overloaded;
        (message, (0..fails).fold(line, |line, _| line.failing_after(0, kind)))
    });
    let model = StoryModel::new(lines, points.clone());
    Sim::new(model, story::tools(ledger, points), points.clone())
}

/// The lines that viewers see, without delays and figures: a crash makes others.
fn told(entries: &[Entry]) -> Vec<String> {
    let lines = visible(entries).into_iter().filter(|line| !line.contains(".delay"));
    let end = |line: String| line.split(" (").next().unwrap_or_default().to_owned();
    sorted(&lines.map(end).collect::<Vec<_>>())
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_provider_survives_a_crash_at_every_point() {
    let points = Points::new();
    let mut calm = interrupted(&points, &Ledger::default());
    let entries = calm.run_to_end(&calm.make_question(RunSettings::default())).await.unwrap();
    assert!(delays(&entries).len() >= 3, "{:#?}", visible(&entries));
    let expected = |lines: &[&str]| {
        let lines = lines.iter().map(|line| line.split(" (").next().unwrap_or_default());
        sorted(&lines.collect::<Vec<_>>())
    };
    for (at, name) in points.point_names().iter().enumerate() {
        let ledger = Ledger::default();
        let mut sim = interrupted(&Points::killing_at(at), &ledger);
        let entries = sim.run_to_end(&sim.make_question(RunSettings::default())).await.unwrap();
        let told = told(&entries);
        let is_uncertain = told.iter().any(|line| line.contains("fails: uncertain"));
        let story = if is_uncertain { UNCERTAIN } else { TOLD };
        assert_eq!(told, expected(&story), "killed at {at}, {name}");
        assert!(ledger.count("send t2.c1") <= 1, "sent twice when killed at {at}, {name}");
        assert!(!sim.has_alarm(), "an alarm is left when killed at {at}, {name}");
    }
}
