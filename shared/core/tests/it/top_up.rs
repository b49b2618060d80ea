//! A budget that is used up where people are asked: more is offered.

use djinn_core::effect::Effect;
use djinn_core::error_code::ErrorCode;
use djinn_core::human::{Subject, TopUp};
use djinn_core::input::Input;
use djinn_core::run::Run;
use djinn_core::status::RunStatus;
use serde_json::json;

use crate::story::human_requests;
use crate::story::plan_solve;
use crate::story::top_up::{asked, input};
use crate::{machine, story};

#[test]
fn more_of_a_budget_is_offered_as_the_table_says() {
    machine::check(include_str!("top_up.txt"), asked, input, owed);
}

fn owed(run: &Run) -> Vec<String> {
    let mut owed = machine::owed(run);
    if run.status() == RunStatus::Paused {
        owed.push("| paused".to_owned());
    }
    owed
}

fn planned() -> Run {
    let mut asked = story::asked_to_plan("why?");
    asked.settings.human.enabled = true;
    asked.settings.budget.tokens = 350;
    let (mut run, _) = Run::start(asked, 0);
    run.apply_input(&plan_solve::input("plans t1 create a; b<; c<1"), 0).unwrap();
    run
}

/// A task that is done, and took so many tokens for it.
fn done(task: &str, tokens: u64) -> Input {
    let Input::ChildEnded(mut ended) = plan_solve::input(&format!("task_done {task}")) else {
        unreachable!("it is the end of a task")
    };
    ended.spent.usage.input_tokens = tokens;
    Input::ChildEnded(ended)
}

fn owes(run: &Run) -> Vec<String> {
    let due = run.due().into_iter();
    let due = due.filter(|effect| !matches!(effect, Effect::Wait { .. } | Effect::SavePlan { .. }));
    due.map(|effect| effect.id().to_string()).collect()
}

#[test]
fn tasks_at_work_go_on_while_more_is_offered_and_no_other_begins() {
    let mut run = planned();
    run.apply_input(&done("s1.1", 300), 0).unwrap();
    assert_eq!(owes(&run), ["child:s2.1", "human:budget.1"]);
    run.apply_input(&done("s2.1", 10), 0).unwrap();
    let ask = run.pending_requests().next().unwrap().clone();
    let Subject::BudgetExtension { used_up, offer: more } = &ask.subject else { panic!("{ask:?}") };
    assert_eq!(used_up.code, ErrorCode::TokensUsedUp);
    assert_eq!(*more, TopUp { tokens: 350, micro_usd: 0 });
    assert_eq!(owes(&run), ["human:budget.1"]);
    run.apply_input(&human_requests::input("confirm budget.1"), 0).unwrap();
    assert_eq!(owes(&run), ["child:s3.1"]);
    assert_eq!(run.budget().tokens, 700);
}

#[test]
fn declined_top_up_leads_to_a_summary_of_completed_steps_too() {
    let mut asked = story::asked_to_plan("why?");
    asked.settings.human.enabled = true;
    asked.settings.budget.tokens = 350;
    asked.settings.plan.ends_when_complete = true;
    let (mut run, _) = Run::start(asked, 0);
    run.apply_input(&plan_solve::input("plans t1 create a; b<"), 0).unwrap();
    run.apply_input(&done("s1.1", 300), 0).unwrap();
    run.apply_input(&done("s2.1", 10), 0).unwrap();
    assert_eq!(owes(&run), ["human:budget.1"]);
    run.apply_input(&human_requests::input("skip budget.1"), 0).unwrap();
    assert_eq!(owes(&run), ["model:summary"]);
}

#[test]
fn without_approval_a_used_up_budget_ends_the_work() {
    let mut asked = asked("why?");
    asked.settings.human.enabled = false;
    asked.settings.budget.tokens = 100;
    let (mut run, _) = Run::start(asked, 0);
    for line in ["replied t1 \"\" read(a)", "returned t1.c1"] {
        run.apply_input(&human_requests::input(line), 0).unwrap();
    }
    assert_eq!(run.pending_requests().count(), 0);
    assert!(owes(&run).contains(&"model:summary".to_owned()), "{:?}", owes(&run));
}

#[test]
fn a_top_up_is_at_most_the_one_that_was_offered() {
    let offer = TopUp { tokens: 100, micro_usd: 7 };
    let given = |value: serde_json::Value| offer.parse_amount(value.as_object().unwrap());
    assert_eq!(given(json!({"tokens": 100})), Ok(TopUp { tokens: 100, micro_usd: 0 }));
    assert_eq!(given(json!({"tokens": 1, "micro_usd": 7})), Ok(TopUp { tokens: 1, micro_usd: 7 }));
    for wrong in [
        json!({}),
        json!({"tokens": 0}),
        json!({"tokens": 101}),
        json!({"tokens": -1}),
        json!({"tokens": "all"}),
        json!({"micro_usd": 8}),
        json!({"tokens": 1, "dollars": 1}),
    ] {
        assert!(given(wrong.clone()).is_err(), "{wrong}");
    }
}
