//! A model that cannot answer and one that does in its place, with a process that dies at any point.

use djinn_core::entry::Entry;
use djinn_core::settings::{ModelChoice, RunSettings};
use djinn_runtime::port::model::ModelErrorKind;
use djinn_testkit::ledger::Ledger;
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{Line, StoryModel};

use crate::crash::sorted;
use crate::story::{self, TOLD, UNCERTAIN, visible};

/// The story, with a model that is refuses a key at its second message and breaks off at its third.
fn sim(points: Points, ledger: &Ledger, sent: usize) -> (Sim, StoryModel) {
    let lines = story::lines().into_iter().map(|(message, line): (&'static str, Line)| {
        let line = match message {
            "t2" => line.down_after(sent, ModelErrorKind::KeyRefused),
            "t3" => line.down_after(sent, ModelErrorKind::BrokenOff),
            _ => line,
        };
        (message, line)
    });
    let model = StoryModel::new(lines, points.clone()).with_fallback(50_000);
    let tools = story::tools(ledger, &points);
    (Sim::new(model.clone(), tools, points), model)
}

async fn told(sim: &mut Sim) -> Vec<Entry> {
    sim.run_to_end(&sim.question(RunSettings::default())).await.unwrap()
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
        let asked: Vec<String> = model
            .asked()
            .iter()
            .map(|request| {
                let message = request.call.split('/').nth(1).unwrap_or_default();
                let by = if request.choice == ModelChoice::Primary { "" } else { " backup" };
                format!("{message}{by}")
            })
            .collect();
        let calls = ["t1", "t2", "t2 backup", "t3", "t3", "t3", "t3 backup"];
        assert_eq!(asked, calls, "{sent}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_model_is_replaced_survives_a_crash_at_every_point() {
    for sent in [0, 8] {
        let points = Points::new();
        let (mut calm, _) = sim(points.clone(), &Ledger::default(), sent);
        told(&mut calm).await;
        let names = points.names();
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
