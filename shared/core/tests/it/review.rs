//! Reviews as tables, like the run's machine; the marks on messages and ends; and the reviewer's child.

use djinn_core::agent::AgentSpec;
use djinn_core::conversation::ConversationItem;
use djinn_core::entry::{Event, ResetReason, ReviewResult, RunResult};
use djinn_core::id::ChildId;
use djinn_core::input::RunSpec;
use djinn_core::journal::{Journal, Record};
use djinn_core::review::{ReviewOutcome, ReviewPolicy};
use djinn_core::settings::SummaryPolicy;
use djinn_core::status::RunStatus;

use crate::machine;
use crate::plan_solve::owed;
use crate::story::review::{asked, asked_of_workflow, asked_to_plan, asked_with_rounds, input};
use crate::story::{self, workflow};

#[test]
fn reviews_do_what_their_tables_say() {
    machine::check(include_str!("review.txt"), asked, input, owed);
    machine::check(include_str!("review_plan.txt"), asked_to_plan, input, owed);
    machine::check(include_str!("review_workflow.txt"), asked_of_workflow, input, owed);
}

fn journal(spec: RunSpec, lines: &[&str]) -> (Journal, Vec<Record>) {
    let inputs = lines.iter().map(|line| input(line)).collect();
    let (journal, records) = story::journal_of(spec, inputs);
    assert_eq!(records.len(), lines.len() + 1, "every input counts: {lines:?}");
    (journal, records)
}

fn events(records: &[Record]) -> Vec<&Event> {
    records.iter().flat_map(|record| &record.entries).map(|entry| &entry.event).collect()
}

fn end(records: &[Record]) -> &RunResult {
    events(records).into_iter().find_map(Event::run_result).unwrap()
}

fn outcome(records: &[Record]) -> (RunStatus, &str, Option<ReviewOutcome>) {
    let RunResult { status, answer, review, .. } = end(records);
    (*status, answer, *review)
}

fn verdicts(records: &[Record]) -> Vec<&ReviewResult> {
    let verdicts = events(records).into_iter().filter_map(|event| match event {
        Event::ReviewCompleted(result) => Some(result),
        _ => None,
    });
    verdicts.collect()
}

/// The messages with text that are marked as the answer, or as a draft.
fn marks(records: &[Record]) -> Vec<(String, bool, bool)> {
    let mark = |event: &Event| match event {
        Event::MessageCompleted { message, answer, draft, .. } => {
            Some((message.to_string(), *answer, *draft))
        }
        _ => None,
    };
    events(records).into_iter().filter_map(mark).collect()
}

const ANSWER: &str = r#"replied t1 "It is 4.""#;
const SECOND: &str = r#"replied t2 "It is 5.""#;

#[test]
fn the_end_says_if_the_answer_was_accepted() {
    let accepted = journal(asked(""), &[ANSWER, "accepts review.1"]).1;
    let finished = RunStatus::Finished;
    assert_eq!(outcome(&accepted), (finished, "It is 4.", Some(ReviewOutcome::Accepted)));
    let lines = [ANSWER, "criticizes review.1", SECOND, "criticizes review.2"];
    let stands = journal(asked_with_rounds(1), &lines).1;
    assert_eq!(outcome(&stands), (finished, "It is 5.", Some(ReviewOutcome::NotAccepted)));
    for fault in ["fails review.1", "babbles review.1", "wall_time"] {
        let failed = journal(asked(""), &[ANSWER, fault]).1;
        let end = (finished, "It is 4.", Some(ReviewOutcome::NotReviewed));
        assert_eq!(outcome(&failed), end, "{fault}");
        assert_eq!(end_failure(&failed), None, "{fault}");
    }
    let criticized = journal(asked(""), &[ANSWER, "criticizes review.1", "model_failed t2"]).1;
    assert_eq!(outcome(&criticized), (finished, "It is 4.", Some(ReviewOutcome::NotAccepted)));
    // A stopped or failed run has no final answer, but keeps the draft.
    let stopped = journal(asked(""), &[ANSWER, "stop"]).1;
    assert_eq!(outcome(&stopped), (RunStatus::Stopped, "It is 4.", None));
    let failed = journal(asked(""), &["model_failed t1"]).1;
    assert_eq!(outcome(&failed), (RunStatus::Failed, "", None));
    // Without rounds, there is no review.
    let plain = journal(asked_with_rounds(0), &[ANSWER]).1;
    assert_eq!(outcome(&plain), (finished, "It is 4.", None));
    assert_eq!(marks(&plain), [("t1".to_owned(), true, false)]);
}

fn end_failure(records: &[Record]) -> Option<String> {
    end(records).failure.as_ref().map(ToString::to_string)
}

#[test]
fn viewers_receive_drafts_verdicts_and_resets() {
    let lines = [ANSWER, "criticizes review.1", SECOND, "accepts review.2"];
    let (_, records) = journal(asked(""), &lines);
    let drafts = [("t1".to_owned(), false, true), ("t2".to_owned(), false, true)];
    assert_eq!(marks(&records), drafts);
    let [first, second] = verdicts(&records)[..] else { panic!("{records:?}") };
    assert_eq!((first.round, first.accepted, second.round, second.accepted), (1, false, 2, true));
    assert_eq!(
        (&first.problems[..], &first.missing[..]),
        (&["Wrong.".into()][..], &["Gold.".into()][..])
    );
    let message = |result: &ReviewResult| result.message.as_ref().map(ToString::to_string);
    assert_eq!((message(first), message(second)), (Some("t1".into()), Some("t2".into())));
    let resets = events(&records).into_iter().filter_map(|event| match event {
        Event::MessageReset { message, reason, attempt, failure } => {
            Some((message.to_string(), *reason, *attempt, failure.clone()))
        }
        _ => None,
    });
    let resets: Vec<_> = resets.collect();
    assert_eq!(resets, [("t1".to_owned(), ResetReason::Review, None, None)]);
    // The failure of a reviewer is part of its verdict.
    let (_, records) = journal(asked(""), &[ANSWER, "babbles review.1"]);
    let failure = verdicts(&records)[0].failure.as_ref().unwrap();
    assert_eq!(failure.to_string(), "bad_answer: It is fine.");
}

#[test]
fn the_agent_reads_the_criticism() {
    let (journal, _) = journal(asked(""), &[ANSWER, "criticizes review.1"]);
    let Some(ConversationItem::Review(note)) = journal.run().conversation().items.last() else {
        panic!("{:?}", journal.run().conversation())
    };
    // The newest turn holds the answer.
    assert_eq!(note.answer, None);
    assert_eq!((note.problems.len(), note.missing.len()), (1, 1));
    // The answer of a closing call is in no turn.
    let mut spec = asked("");
    spec.settings.summary_policy = Some(SummaryPolicy::Always);
    let lines = [
        r#"replied t1 "I look." read(a)"#,
        "returned t1.c1",
        r#"replied t2 "Done.""#,
        r#"replied summary "It is 4.""#,
        "criticizes review.1",
        r#"replied t3 "Done again.""#,
    ];
    let (journal, _) = self::journal(spec, &lines);
    let items = &journal.run().conversation().items;
    let note = items.iter().find_map(|item| match item {
        ConversationItem::Review(note) => Some(note),
        _ => None,
    });
    assert_eq!(note.unwrap().answer.as_deref(), Some("It is 4."));
    assert_eq!(owed(journal.run()), ["model:summary.2"]);
}

#[test]
fn a_workflow_keeps_its_reports_for_the_revision() {
    let lines = [
        r#"ends s1.1 ["North"]"#,
        "ends s5.1 North is high.",
        "skip steps.s3",
        "ends s4.1 weekly.md",
        "criticizes review.1",
    ];
    let (journal, records) = journal(asked_of_workflow(""), &lines);
    let [ConversationItem::Round { reports, .. }, ConversationItem::Review(note)] =
        &journal.run().conversation().items[..]
    else {
        panic!("{:?}", journal.run().conversation())
    };
    let texts: Vec<_> = reports.iter().map(|report| report.text.as_str()).collect();
    assert_eq!(texts, [r#"["North"]"#, "North is high.", "weekly.md"]);
    assert_eq!(note.answer.as_deref(), Some("Written: weekly.md"));
    assert_eq!(verdicts(&records)[0].message, None, "no model wrote the answer");
}

#[test]
fn a_reviewer_receives_the_question_the_answer_and_half_of_the_budget() {
    let (journal, _) = journal(asked(""), &[ANSWER]);
    let run = journal.run();
    let child = ChildId::Review(1);
    let spec = run.child_spec(&child).unwrap();
    let arguments = serde_json::json!({"question": "why?", "answer": "It is 4."});
    assert_eq!(serde_json::Value::Object(spec.arguments.clone()), arguments);
    let own = spec.child.as_ref().unwrap();
    assert_eq!(own.tools, Some(vec!["reviewer".to_owned()]));
    assert!(own.needs_agent);
    assert_eq!((spec.review, spec.settings.budget.steps), (None, 2), "of 5 turns");
    assert_eq!(run.agent_of(&child).unwrap(), ("reviewer", None));
    assert_eq!(run.running_children(), std::slice::from_ref(&child));
    assert_eq!(run.child_spec(&ChildId::Review(2)), None);
    let (journal, _) = self::journal(asked(""), &[ANSWER, "accepts review.1"]);
    assert_eq!(journal.run().spending().model_calls, 1 + 1, "with that of the reviewer");
}

#[test]
fn a_tool_that_makes_the_answer_is_called_once() {
    let after = Some("read".to_owned());
    let spec = workflow::asked("");
    let agent = AgentSpec { after, workflow: None, ..(**spec.agent.as_ref().unwrap()).clone() };
    let agent = AgentSpec { machine: djinn_core::settings::Machine::React, ..agent };
    let review = Some(ReviewPolicy { agent: "reviewer".to_owned(), rounds: 1 });
    let spec = RunSpec { review, ..story::asked("why?").with_agent(agent) };
    let made = story::replied("after", "", &[("read", serde_json::json!({"answer": "It is 4."}))]);
    let inputs = vec![input(ANSWER), made, input("returned after.c1")];
    let (_, records) = story::journal_of(spec, inputs);
    let end = (RunStatus::Finished, "fine", Some(ReviewOutcome::NotReviewed));
    assert_eq!(outcome(&records), end);
}
