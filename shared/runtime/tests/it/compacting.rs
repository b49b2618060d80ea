//! Long runs and small windows: older turns are summed up, long results shortened, and no process
//! that dies meanwhile changes what is seen.

use djinn_core::entry::Entry;
use djinn_core::language::Language;
use djinn_core::settings::{Machine, Role, RunSettings};
use djinn_core::tool::EffectClass;
use djinn_runtime::port::model::{Message, ModelErrorKind, ModelRequest};
use djinn_runtime::port::tool::Toolbox;
use djinn_runtime::prompt::frame::OPEN_TAG;
use djinn_runtime::prompt::{self, Prompts};
use djinn_testkit::ledger::{Ledger, LedgerTool};
use djinn_testkit::point::Points;
use djinn_testkit::sim::Sim;
use djinn_testkit::story::{StoryLine, StoryModel};
use serde_json::{Value, json};

use crate::crash::sorted;
use crate::story::visible;

/// A model's window in which the instructions and two or three turns have room.
const WINDOW: u64 = 4_000;

/// Turns that look something up, and what each of them would be summed up to.
fn looks(turns: usize, notes: Option<&str>) -> Vec<(String, StoryLine)> {
    let mut lines: Vec<(String, StoryLine)> = (1..turns)
        .map(|nth| {
            let line =
                StoryLine::say(&format!("I look at {nth}.")).with_call("look", json!({"at": nth}));
            (format!("t{nth}"), line)
        })
        .collect();
    lines.push((format!("t{turns}"), StoryLine::say("All of it is there.")));
    if let Some(notes) = notes {
        lines.extend((1..=turns).map(|nth| (format!("t{nth}.compact"), StoryLine::say(notes))));
    }
    lines
}

fn sim(
    lines: &[(String, StoryLine)],
    window: u64,
    answer: &str,
    points: Points,
) -> (Sim, StoryModel) {
    let lines = lines.iter().map(|(message, line)| (message.as_str(), line.clone()));
    let model = StoryModel::new(lines, points.clone()).with_window(window);
    let look = LedgerTool {
        answer: answer.to_owned(),
        ..LedgerTool::new("look", EffectClass::Read, &Ledger::default(), &points)
    };
    (Sim::new(model.clone(), Toolbox::default().with_tool(look), points), model)
}

async fn told(sim: &mut Sim, mode: Machine) -> Vec<Entry> {
    let settings = RunSettings { mode: mode.into(), ..RunSettings::default() };
    sim.run_to_end(&sim.make_question(settings)).await.unwrap()
}

fn texts(request: &ModelRequest) -> String {
    let text = |message: &Message| match message {
        Message::User(text) | Message::Assistant { text, .. } | Message::Images { text, .. } => {
            text.clone()
        }
        Message::ToolResults(results) => {
            results.iter().map(|result| result.text.as_str()).collect::<Vec<_>>().join("\n")
        }
    };
    request.messages.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn message(request: &ModelRequest) -> &str {
    request.call.split('/').nth(1).unwrap()
}

/// What a tool answers: some 800 tokens.
fn page() -> String {
    "A page of words. ".repeat(140)
}

const NOTES: &str = "Notes: pages were looked at, nothing is open.";

#[tokio::test(start_paused = true)]
async fn older_turns_are_summed_up_and_the_newest_stay_whole() {
    let (mut sim, model) = sim(&looks(9, Some(NOTES)), WINDOW, &page(), Points::new());
    let entries = told(&mut sim, Machine::React).await;
    let seen = visible(&entries);
    let end = seen.last().unwrap();
    let compactions: Vec<_> = seen.iter().filter(|line| line.contains(" sums up ")).collect();
    assert!(compactions.len() >= 2, "{seen:#?}");
    let calls = 9 + compactions.len();
    assert!(end.ends_with(&format!("(9 steps, {calls} model calls, 8 tool calls)")), "{end}");

    let asked = model.requests();
    assert_eq!(asked.len(), calls, "a request was refused: {asked:#?}");
    let last = asked.iter().find(|request| message(request) == "t9").unwrap();
    let said = texts(last);
    assert!(said.contains("What is to be done?") && said.contains(NOTES), "{said}");
    assert!(said.contains("I look at 8.") && said.contains(page().trim()), "{said}");
    assert!(!said.contains("I look at 1."), "{said}");
    // The second time, what was summed up before is summed up with the rest.
    let mut compactors = asked.iter().filter(|request| request.role == Role::Compactor);
    let (first, second) = (compactors.next().unwrap(), compactors.next().unwrap());
    assert!(texts(first).contains("I look at 1.") && !texts(first).contains(NOTES));
    assert!(texts(second).contains(NOTES) && !texts(second).contains("I look at 1."));
    assert!(first.tools.is_empty() && first.system.is_empty());
    // Nobody watches it being written.
    let frames = sim.clients[0].lock().unwrap().clone();
    assert!(frames.iter().all(|(_, frame)| !frame.contains("Notes:")), "{frames:#?}");
    assert!(frames.iter().any(|(_, frame)| frame.contains("event: context.compacted")));
}

/// The run goes on without it instead, and asks nobody.
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_provider_that_cannot_sum_up() {
    for kind in [ModelErrorKind::Overloaded, ModelErrorKind::NoBalance] {
        let mut lines = looks(9, Some(NOTES));
        for (message, line) in &mut lines {
            if message.ends_with(".compact") {
                *line = StoryLine::say(NOTES).down_after(0, kind);
            }
        }
        let (mut sim, _) = sim(&lines, WINDOW, &page(), Points::new());
        let entries = told(&mut sim, Machine::React).await;
        let seen = visible(&entries);
        assert!(seen.last().unwrap().starts_with("end finished: All of it"), "{kind:?} {seen:#?}");
        let took_ms = entries.last().unwrap().at_ms - entries[0].at_ms;
        assert!(took_ms < 90_000, "{kind:?}: {took_ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_sums_up_survives_a_crash_at_every_point() {
    let lines = looks(6, Some(NOTES));
    let points = Points::new();
    let (mut calm, _) = sim(&lines, WINDOW, &page(), points.clone());
    let expected = visible(&told(&mut calm, Machine::React).await);
    assert!(expected.iter().any(|line| line.contains(" sums up ")), "{expected:#?}");
    let names = points.point_names();
    assert!(names.iter().any(|name| name.contains(".compact")), "{names:?}");
    for (at, name) in names.iter().enumerate() {
        let (mut sim, _) = sim(&lines, WINDOW, &page(), Points::killing_at(at));
        let seen = visible(&told(&mut sim, Machine::React).await);
        assert_eq!(sorted(&seen), sorted(&expected), "killed at {at}, {name}");
        assert!(!sim.has_alarm(), "an alarm is left when killed at {at}, {name}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_nothing_can_be_summed_up_the_oldest_is_left_out_and_that_is_said() {
    let (mut sim, model) = sim(&looks(25, None), WINDOW, &page(), Points::new());
    let seen = visible(&told(&mut sim, Machine::React).await);
    assert!(seen.last().unwrap().starts_with("end finished: All of it is there."), "{seen:#?}");
    let asked = model.requests();
    let compactors = asked.iter().filter(|request| request.role == Role::Compactor).count();
    assert_eq!(compactors, 2, "it is not tried for ever");
    assert_eq!(asked.len(), 25 + compactors, "a request was refused");
    let last = texts(asked.iter().find(|request| message(request) == "t25").unwrap());
    let values = json!({"exchanges": 0, "turns": left_out(&last)});
    let note = Prompts::default().render(Language::En, prompt::NOTE_LEFT_OUT, values);
    assert!(left_out(&last) > 5);
    assert!(last.starts_with(&format!("What is to be done?\n{note}\n")), "{last}");
    assert!(last.contains("I look at 24.") && !last.contains("I look at 1."), "{last}");
}

/// How many of 24 turns a request does not hold.
fn left_out(said: &str) -> usize {
    (1..=24).filter(|nth| !said.contains(&format!("I look at {nth}."))).count()
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_larger_than_the_window_is_shortened() {
    let long = "这是第一行，金价上涨。".repeat(910);
    let first = (0..32).fold(StoryLine::say("I look everywhere."), |line, nth| {
        line.with_call("look", json!({"at": nth}))
    });
    let lines = [("t1".to_owned(), first), ("t2".to_owned(), StoryLine::say("Gold is dearer."))];
    let (mut sim, model) = sim(&lines, 100_000, &long, Points::new());
    let seen = visible(&told(&mut sim, Machine::React).await);
    assert!(seen.last().unwrap().starts_with("end finished: Gold is dearer."), "{seen:#?}");
    let asked = model.requests();
    assert_eq!(asked.len(), 2, "a request was refused");
    let Message::ToolResults(results) = &asked[1].messages[2] else { panic!("{asked:#?}") };
    assert_eq!(results.len(), 32);
    let start = "这是第一行，金价上涨。";
    for result in results {
        let text = &result.text;
        assert!(text.starts_with(&format!("{OPEN_TAG}\n{start}")), "{text}");
        assert!(text.contains("characters are left out here"), "{text}");
        assert!(text.contains("The whole is in the file result-"), "{text}");
        assert!(text.len() > 4_000, "{}", text.len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_of_two_megabytes_is_shown_by_its_ends_however_much_may_be_seen() {
    let long = format!("The first line.\n{}\nThe last line.", "0123456789\n".repeat(190_000));
    for max_observe in [10_000, 1_000_000] {
        let (mut sim, model) = sim(&looks(2, Some(NOTES)), 20_000, &long, Points::new());
        let settings = RunSettings { max_result_chars: max_observe, ..RunSettings::default() };
        let entries = sim.run_to_end(&sim.make_question(settings)).await.unwrap();
        assert!(visible(&entries).last().unwrap().starts_with("end finished"));
        let asked = model.requests();
        assert_eq!(asked.len(), 2, "a request was refused");
        let seen = texts(&asked[1]);
        assert!(seen.contains("The first line."));
        assert!(seen.contains("The whole is in the file result-"), "{seen}");
        assert!(seen.len() > 9_000, "{}", seen.len());
    }
}

/// A planner whose rounds bring back much, over and over.
fn rounds() -> Vec<(String, StoryLine)> {
    let plans = |arguments: Value| StoryLine::say("I plan.").with_call("planning", arguments);
    let mut lines = Vec::new();
    for round in 1..=4 {
        let steps: Vec<_> = (1..=round).map(|nth| format!("step {nth}")).collect();
        let command = if round == 1 { "create" } else { "update" };
        let update = json!({"command": command, "title": "All", "steps": steps});
        lines.push((format!("t{round}"), plans(update)));
        lines.push((format!("s{round}.1.t1"), StoryLine::say(&page())));
        lines.push((format!("t{}.compact", round + 1), StoryLine::say(NOTES)));
    }
    lines.push(("t5".to_owned(), plans(json!({"command": "finish"}))));
    lines.push(("summary".to_owned(), StoryLine::say("All of it is done.")));
    lines
}

#[tokio::test(start_paused = true)]
async fn a_planner_sums_up_its_rounds_and_survives_a_crash_at_every_point() {
    let points = Points::new();
    let (mut calm, model) = sim(&rounds(), WINDOW, "", points.clone());
    let expected = visible(&told(&mut calm, Machine::PlanSolve).await);
    assert!(expected.iter().any(|line| line.contains(" sums up 0 exchanges")), "{expected:#?}");
    assert!(expected.last().unwrap().starts_with("end finished: All"), "{expected:#?}");
    // A task that begins after that is told the notes.
    let last_task = model.requests().into_iter().find(|request| request.call.contains("/s4.1.t1/"));
    assert!(texts(&last_task.unwrap()).contains(NOTES));
    for (at, name) in points.point_names().iter().enumerate() {
        let (mut sim, _) = sim(&rounds(), WINDOW, "", Points::killing_at(at));
        let seen = visible(&told(&mut sim, Machine::PlanSolve).await);
        assert_eq!(without_end(&seen), without_end(&expected), "killed at {at}, {name}");
    }
}

/// A crash costs model calls, which the end counts.
fn without_end(seen: &[String]) -> Vec<String> {
    sorted(&seen.iter().filter(|line| !line.starts_with("end ")).cloned().collect::<Vec<_>>())
}
