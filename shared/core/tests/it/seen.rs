//! What a run's model sees: placeholders for long URLs, the same ones for as long as the run lasts.

use djinn_core::conversation::{ConversationItem, Exchange, Reasoning};
use djinn_core::id::ChildId;
use djinn_core::input::{Input, Reply, RunSpec};
use djinn_core::journal::{Journal, Record};
use djinn_core::run::Run;
use djinn_core::settings::Role;
use djinn_core::status::RunStatus;
use djinn_core::tool::{FullOutput, ToolOutput, ToolResult};
use serde_json::json;

use crate::story;

fn long(name: &str) -> String {
    format!("https://cdn.example.com/{name}?auth_key={}", "k3y".repeat(20))
}

/// A question that comes with URLs in everything that a record 0 holds for the model.
fn asked() -> RunSpec {
    let mut asked = story::asked(&format!("What is on {}?", long("question")));
    asked.settings.compress_urls = true;
    asked.settings.budget.steps = 20;
    asked.settings.context.keep_turns = 1;
    asked.base_prompt = format!("Our style is at {}.", long("style"));
    let answer = format!("It was {}.", long("answer"));
    asked.history =
        vec![Exchange { question: "Which one?".to_owned(), answer, ..Exchange::default() }];
    asked.files[0].description = format!("from {}", long("file"));
    asked
}

fn work() -> Vec<Input> {
    let found = format!("Found {} and {}.", long("found"), long("question"));
    let second = json!({"of": {"urls": [long("found"), long("own")]}});
    let mut late = story::file("late.csv");
    late.description = format!("from {}", long("late"));
    vec![
        story::replied("t1", "I look.", &[("read", json!({"of": long("question")}))]),
        story::returned("t1.c1", &found),
        Input::FileAdded { id: "f1".to_owned(), file: late },
        story::filling(story::replied("t2", "Again.", &[("read", second)]), 900, 1_000),
        story::returned("t2.c1", &"nothing ".repeat(90)),
        story::replied("t3.compact", &format!("Notes on {}.", long("found")), &[]),
        story::replied("t3", &format!("It is {}.", long("own")), &[]),
    ]
}

const NAMES: [&str; 7] = ["style", "answer", "question", "file", "found", "late", "own"];

fn placeholders(run: &Run) -> Vec<String> {
    let shown = |name: &&str| run.urls().compress_text(&long(name)).into_owned();
    NAMES.iter().map(shown).filter(|shown| shown.len() < 20).collect()
}

fn folded(records: &[Record]) -> Run {
    Journal::fold(records).unwrap().run().clone()
}

#[test]
fn every_driver_gives_a_url_the_same_placeholder_to_the_end() {
    let (journal, records) = story::journal_of(asked(), work());
    let all: Vec<String> = (0..NAMES.len()).map(|nth| format!("https://{nth}")).collect();
    assert_eq!(placeholders(journal.run()), all);
    assert!(journal.run().conversation().compacted.is_some());
    let known: Vec<usize> = (1..=records.len())
        .map(|count| {
            let run = folded(&records[..count]);
            let shown = placeholders(&run);
            assert_eq!(shown, all[..shown.len()], "after record {count}");
            shown.len()
        })
        .collect();
    assert_eq!(known, [4, 4, 5, 6, 7, 7, 7, 7]);
    assert_eq!(&folded(&records), journal.run());
}

#[test]
fn the_model_sees_no_long_url_and_the_run_keeps_them_all() {
    let inputs = work();
    for count in 0..=inputs.len() {
        let (journal, _) = story::journal_of(asked(), inputs[..count].to_vec());
        let seen = journal.run().model_view();
        let told = (seen.conversation(), seen.files(), seen.produced_files());
        let base = &seen.spec().base_prompt;
        assert!(!format!("{told:?} {base}").contains("auth_key"), "{told:#?}");
        assert!(base.contains("https://0."), "{base}");
        assert!(journal.run().conversation().question.contains(&long("question")));
    }
}

#[test]
fn history_counts_against_the_window_as_the_model_sees_it() {
    let answer = format!("{} ", long("answer")).repeat(60);
    let mut asked = asked();
    asked.history =
        vec![Exchange { question: "Which?".to_owned(), answer, ..Exchange::default() }; 2];
    let windows = Role::ALL.iter().map(|role| (*role, 4_000));
    asked.settings.context.input_limits = windows.collect();
    asked.history_tokens = 4_000;
    let owes = |asked: &RunSpec| Run::start(asked.clone(), 0).0.compaction_range().is_some();
    assert!(!owes(&asked), "placeholders take up little");
    asked.settings.compress_urls = false;
    assert!(owes(&asked));
}

#[test]
fn an_input_that_nobody_waits_for_teaches_nothing() {
    let (journal, _) = story::journal_of(asked(), Vec::new());
    let mut run = journal.run().clone();
    let before = run.clone();
    assert_eq!(run.apply_input(&story::returned("t9.c1", &long("stray")), 0), None);
    assert_eq!(run, before);
}

#[test]
fn a_run_whose_record_does_not_ask_for_it_shows_urls_as_they_are() {
    let mut asked = asked();
    asked.settings.compress_urls = false;
    let (journal, _) = story::journal_of(asked, work());
    assert!(journal.run().urls().is_empty());
    assert_eq!(journal.run().model_view().as_ref(), journal.run());
}

#[test]
fn a_result_that_was_cut_in_a_url_shows_it_as_it_is() {
    let text = format!("{} {}", long("found"), long("half"));
    let file = story::file("result-1.txt").name;
    let whole = Some(FullOutput { file, characters: 9_999 });
    let cut = ToolResult::Done(ToolOutput { full_output: whole, ..ToolOutput::from_text(text) });
    let inputs = work().into_iter().take(1).chain([story::outcome("t1.c1", cut)]);
    let (journal, _) = story::journal_of(asked(), inputs.collect());
    let seen = journal.run().model_view();
    let shown = format!("https://4 {}", long("half"));
    assert!(format!("{:?}", seen.conversation().items).contains(&shown));
}

#[test]
fn a_report_that_may_have_been_cut_in_a_url_shows_it_as_it_is() {
    let shown = |bytes: usize| {
        let url = long("report");
        let text = format!("{} {url}", "x".repeat(bytes - 1 - url.len()));
        let mut asked = story::asked_as_a_task("why?");
        asked.settings.compress_urls = true;
        let Input::ChildEnded(ended) = story::task_ended("s1.1", RunStatus::Finished, &text) else {
            unreachable!("a task ended")
        };
        asked.child.as_mut().unwrap().current_round = vec![ended.report];
        let (run, _) = Run::start(asked, 0);
        run.urls().compress_text(&url).len() == url.len()
    };
    let cut: Vec<_> = [400, 496, 497, 500, 501, 4_092, 4_093, 4_096].map(shown).into();
    assert_eq!(cut, [false, false, true, true, false, false, true, true]);
}

#[test]
fn thoughts_go_back_as_they_were_written() {
    let reasoning = |written: Option<&str>| {
        let text = format!("Is it {}?", long("question"));
        let written = written.map(str::to_owned);
        Some(Reasoning { text, signature: Some("signed".to_owned()), original: written })
    };
    let thought = |written| {
        let text = "It is.".to_owned();
        let reply = Reply { text, reasoning: reasoning(written), ..Reply::default() };
        let (journal, _) = story::journal_of(asked(), vec![story::reply("t1", reply)]);
        let seen = journal.run().model_view().into_owned();
        let [ConversationItem::Turn(turn)] = seen.conversation().items.as_slice() else {
            unreachable!()
        };
        turn.reasoning.as_ref().unwrap().text.clone()
    };
    assert_eq!(thought(Some("Is it https://2?")), "Is it https://2?");
    // The model wrote it out itself, and its provider may have signed that.
    assert_eq!(thought(None), format!("Is it {}?", long("question")));
}

#[test]
fn a_task_has_placeholders_of_its_own() {
    let mut asked = story::asked_to_plan(&format!("Compare {}.", long("question")));
    asked.settings.compress_urls = true;
    asked.files.clear();
    let steps = json!({"command": "create", "title": "Compare",
        "steps": [format!("Read {}", long("step")), "Compare"], "depends_on": [[], [1]]});
    let ended = story::task_ended("s1.1", RunStatus::Finished, &format!("See {}.", long("report")));
    let (journal, _) = story::journal_of(asked, vec![story::planned("t1", &steps), ended]);
    let run = journal.run();
    let shown: Vec<_> = ["question", "step", "report"]
        .map(|name| run.urls().compress_text(&long(name)).into_owned())
        .into();
    assert_eq!(shown, ["https://0", "https://1", "https://2"]);
    let task = run.child_spec(&ChildId::new("s2.1").unwrap()).unwrap();
    assert!(format!("{task:?}").contains(&long("report")), "{task:?}");
    let (task, _) = Run::start(task, 0);
    assert!(!format!("{:?}", task.model_view().spec().child).contains("auth_key"));
    assert_eq!(task.urls().compress_text(&long("report")), "https://1");
}
