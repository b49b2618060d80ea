//! Confirm points of a plan: steps that people let begin, and what came of them.

use djinn_core::conversation::ConversationItem;
use djinn_core::human::{HumanResponse, HumanSettings, Reason, Subject};
use djinn_core::id::{ChildId, StepId};
use djinn_core::input::Input;
use djinn_core::plan::{StepEdit, StepStatus};
use djinn_core::run::Run;
use djinn_core::status::RunStatus;
use serde_json::{Map, json};

use crate::story::confirm::{asked, input, one};
use crate::story::human_requests::{answered, edited};
use crate::{machine, story};

#[test]
fn steps_and_results_wait_for_people_as_the_table_says() {
    machine::check(include_str!("confirm.txt"), asked, input, crate::plan_solve::owed);
}

/// A run that was told these things.
fn told(inputs: &[Input]) -> Run {
    let (mut run, _) = Run::start(asked("why?"), 0);
    for told in inputs {
        assert!(run.apply_input(told, 0).is_some(), "{told:?}");
    }
    run
}

fn answer(request: &str, answer: HumanResponse) -> Input {
    Input::HumanResponded(Box::new(answered(request, answer)))
}

fn says(words: &str) -> HumanResponse {
    HumanResponse::Say { text: words.to_owned() }
}

#[test]
fn people_are_shown_what_they_decide_about() {
    let run = told(&[input("plans t1 create publish a")]);
    let ask = run.pending_requests().next().unwrap();
    assert_eq!(
        ask.subject,
        Subject::StepReview { step: StepId(1), details: "publish a".to_owned() }
    );
    assert_eq!(ask.reasons, [Reason::Step]);
    let run = told(&[input("plans t1 create a"), input("kept 1"), input("task_done s1.1")]);
    let ask = run.pending_requests().next().unwrap();
    assert!(matches!(&ask.subject, Subject::ResultReview { text, files, .. }
        if text == "It is done." && files.is_empty()));
    assert_eq!(
        (run.status(), ask.reasons.as_slice()),
        (RunStatus::Paused, [Reason::Result].as_slice())
    );
}

#[test]
fn a_step_that_is_done_again_knows_what_came_of_it_and_what_the_user_wants() {
    let wants = answer("s1.1.result", says("In euros."));
    let run = told(&[input("plans t1 create a"), input("task_done s1.1"), wants]);
    let task = run.child_spec(&ChildId::for_step(1, 2)).unwrap().child.unwrap();
    let redo = task.revision.unwrap();
    assert_eq!(
        (redo.previous_result.as_str(), redo.instructions.as_str()),
        ("It is done.", "In euros.")
    );
    assert_eq!(task.previous_failure, None);
}

#[test]
fn the_planner_is_told_what_people_made_of_its_steps() {
    let text = HumanResponse::Modify { arguments: one("text", "It is 4.") };
    let run = told(&[
        input("plans t1 create a; publish b<"),
        input("task_done s1.1"),
        answer("s1.1.result", text),
        answer("steps.s2", says("Not in public.")),
    ]);
    let Some(ConversationItem::Round { reports, plan }) = run.conversation().items.last() else {
        panic!()
    };
    let of = |at: usize| (reports[at].text.as_str(), reports[at].done, reports[at].skipped);
    assert_eq!(of(0), ("It is 4.", true, false));
    assert_eq!(of(1), ("Not in public.", false, true));
    let status = |at: usize| plan.steps()[at].status;
    assert_eq!((status(0), status(1)), (StepStatus::Completed, StepStatus::Blocked));
}

#[test]
fn unreviewed_results_count_when_the_work_is_broken_off() {
    let run = told(&[input("plans t1 create a; b<"), input("task_done s1.1"), input("work_time")]);
    let Some(ConversationItem::Round { reports, .. }) = run.conversation().items.last() else {
        panic!()
    };
    assert_eq!((reports.len(), reports[0].done), (1, true));
    assert_eq!(run.pending_requests().count(), 0);
}

#[test]
fn a_plan_can_be_changed_while_a_step_waits_and_that_step_stays() {
    let mut run = told(&[input("plans t1 create publish a; b")]);
    let steps = vec![StepEdit { details: "publish c".to_owned(), ..StepEdit::default() }];
    let entries = run.apply_input(&edited("e1", run.plan_version(), steps), 0).unwrap();
    let ids: Vec<_> = entries.iter().map(|entry| entry.id.to_string()).collect();
    assert_eq!(ids, ["edit.e1", "steps.s3.requested"]);
    let words: Vec<_> = run.current_plan().unwrap().steps().iter().map(|s| s.label()).collect();
    assert_eq!(words, ["publish a", "publish c"]);
    assert_eq!(run.pending_requests().count(), 2);
}

#[test]
fn steps_are_named_by_number_by_words_or_all() {
    let run = told(&[input("plans t1 create a; Publish b; c")]);
    let held = |named: &str| -> Vec<u32> {
        let confirm_steps = [named.to_owned()].into();
        let settings = HumanSettings { confirm_steps, ..HumanSettings::default() };
        let plan = run.current_plan().unwrap().steps().iter();
        plan.filter(|step| settings.needs_step_approval(step)).map(|step| step.id.0).collect()
    };
    assert_eq!(held("*"), [1, 2, 3]);
    assert_eq!(held("2"), [2]);
    assert_eq!(held("s3"), [3]);
    assert_eq!(held("publish"), [2]);
    assert_eq!(held("PUBLISH"), [2]);
    assert!(held("9").is_empty());
}

#[test]
fn a_changed_step_or_result_is_one_text() {
    let step = Subject::StepReview { step: StepId(1), details: "a".to_owned() };
    let (step_text, long) = ("`parameters` hold `details` alone", "x".repeat(2_049));
    assert_eq!(step.parse_text(&one("details", "b")), Ok("b".to_owned()));
    let mut two = one("details", "b");
    two.insert("more".to_owned(), json!(1));
    for wrong in [one("text", "b"), one("details", " "), one("details", &long), two, Map::new()] {
        assert!(step.parse_text(&wrong).unwrap_err().starts_with(step_text), "{wrong:?}");
    }
    assert_eq!(step.parameters(), Some(one("details", "a")));
}

#[test]
fn only_a_command_that_makes_a_plan_is_reviewed() {
    for (command, shown) in [
        ("create a; b", true),
        ("create a<2; b<1", false),
        ("finish", false),
        ("mark 1 completed", false),
    ] {
        let mut asked = story::asked_to_plan("why?");
        asked.settings.human.confirm_plan = true;
        let (mut run, _) = Run::start(asked, 0);
        run.apply_input(&input(&format!("plans t1 {command}")), 0).unwrap();
        assert_eq!(run.pending_requests().count(), usize::from(shown), "{command}");
    }
}
