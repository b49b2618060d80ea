//! Budgets across a run and its tasks: shares handed out when tasks begin, given back when they end.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::budget::{Spending, Usage};
use djinn_core::conversation::ChildReport;
use djinn_core::effect::{Delivery, Effect, Limit};
use djinn_core::entry::{Event, RunResult};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::{ChildId, MessageId};
use djinn_core::input::{AttemptFailed, ChildEnded, Input, RunSpec};
use djinn_core::journal::{Journal, Record};
use djinn_core::run::Run;
use djinn_core::settings::Machine;
use djinn_core::status::RunStatus;
use proptest::prelude::*;
use serde_json::json;

use crate::story;

/// A planned run with this budget and so many places for tasks.
fn planned(steps: u32, tokens: u64, max_tasks: u32) -> RunSpec {
    let mut asked = story::asked_to_plan("why?");
    asked.settings.plan.max_run_turns = steps;
    asked.settings.plan.max_parallel_tasks = max_tasks;
    asked.settings.budget.tokens = tokens;
    asked.settings.budget.steps = 1_000;
    asked
}

/// A run as it is told things, one record each.
struct Told {
    journal: Journal,
    records: Vec<Record>,
}

impl Told {
    fn of(asked: RunSpec) -> Self {
        let (journal, first) = Journal::open(asked, 1, story::write(0), 1_000);
        Self { journal, records: vec![first] }
    }

    fn tell(&mut self, input: Input) -> Vec<String> {
        let n = self.journal.next_number();
        let decided = self.journal.decide_record(vec![input], 1, story::write(n), 1_000);
        let Some((journal, record)) = decided else { return Vec::new() };
        self.journal = journal;
        let ids = record.entries.iter().map(|entry| entry.id.to_string()).collect();
        self.records.push(record);
        ids
    }

    fn run(&self) -> &Run {
        self.journal.run()
    }

    /// The planner says this, for so many tokens.
    fn plans(&mut self, turn: u32, command: &serde_json::Value, tokens: u64) {
        let mut input = story::planned(&format!("t{turn}"), command);
        if let Input::ModelReplied(replied) = &mut input {
            replied.reply.usage = Usage { input_tokens: tokens, ..Usage::default() };
        }
        self.tell(input);
    }

    fn ends(&mut self, task: &ChildId, steps: u32, tokens: u64, status: RunStatus) -> Vec<String> {
        self.tell(ended(task, steps, tokens, status, None))
    }

    /// The shares of the tasks at work: steps and tokens.
    fn shares(&self) -> BTreeMap<String, (u32, u64)> {
        let share = |task: &ChildId| {
            let budget = self.run().child_spec(task).unwrap().settings.budget;
            (task.to_string(), (budget.steps, budget.tokens))
        };
        self.run().running_children().iter().map(share).collect()
    }

    fn ending(&self) -> &RunResult {
        let mut entries = self.records.iter().flat_map(|record| &record.entries);
        match &entries.next_back().unwrap().event {
            Event::RunEnded(ending) => ending,
            event => panic!("it has not ended: {event:?}"),
        }
    }
}

fn ended(
    task: &ChildId,
    steps: u32,
    tokens: u64,
    status: RunStatus,
    failure: Option<Failure>,
) -> Input {
    let usage = Usage { input_tokens: tokens, ..Usage::default() };
    Input::ChildEnded(Box::new(ChildEnded {
        report: ChildReport {
            child: task.clone(),
            description: "w".to_owned(),
            text: format!("What {task} found."),
            failure,
            files: Vec::new(),
            done: status == RunStatus::Finished,
            skipped: false,
            edit_comment: None,
            truncated: false,
            known_urls: Vec::new(),
        },
        status,
        files: Vec::new(),
        spent: Spending { steps, model_calls: steps, usage, ..Spending::default() },
        turns: Vec::new(),
        evidence: Vec::new(),
        tainted: false,
        full_output: None,
        entry_count: None,
    }))
}

fn create(steps: &[&str]) -> serde_json::Value {
    let none: Vec<Vec<u32>> = steps.iter().map(|_| Vec::new()).collect();
    json!({"command": "create", "title": "t", "steps": steps, "depends_on": none})
}

fn task(step: u32, attempt: u32) -> ChildId {
    ChildId::for_step(step, attempt)
}

#[test]
fn tasks_share_what_is_left_and_give_back_what_they_do_not_use() {
    let mut told = Told::of(planned(101, 10_000, 2));
    told.plans(1, &create(&["a", "b", "c"]), 1_000);
    // Two places and a part for what comes later: a third of 9 000 tokens and of 100 steps each.
    let third = (33, 3_000);
    assert_eq!(told.shares(), BTreeMap::from([("s1.1".into(), third), ("s2.1".into(), third)]));
    // It used little: half of the 6 000 - 100 that nobody holds now.
    told.ends(&task(1, 1), 1, 100, RunStatus::Finished);
    assert_eq!(told.shares()["s2.1"], third);
    assert_eq!(told.shares()["s3.1"], (33, 2_950));
    // A new attempt is given a share of its own.
    told.ends(&task(2, 1), 33, 3_000, RunStatus::Failed);
    assert_eq!(told.shares()["s2.2"], (16, 1_475));
    assert_eq!(told.run().spending().steps, 1 + 1 + 33);
    assert_eq!(told.run().spending().tokens(), 1_000 + 100 + 3_000);
}

#[test]
fn a_task_has_no_more_turns_than_its_own_budget_and_ends_before_its_run_sums_up() {
    let mut asked = planned(10_000, 1_000_000, 10);
    asked.settings.plan.max_task_turns = 7;
    asked.settings.budget.wall_ms = 100_000;
    let mut told = Told::of(asked);
    told.plans(1, &create(&["a"]), 10);
    let asked = told.run().child_spec(&task(1, 1)).unwrap();
    assert_eq!(asked.settings.budget.steps, 7);
    // A fifth of the time is for the summary; the task ends a little before the rest is over.
    assert_eq!(asked.child.as_ref().unwrap().deadline_ms, Some(1_000 + 80_000 - 2_500));
    let (begun, _) = Run::start(asked, 70_000);
    assert_eq!(begun.next_limit(), Some((Limit::WallTime, 78_500)));
    assert_eq!(told.run().next_limit(), Some((Limit::WorkTime, 81_000)));
    assert_eq!(told.run().wall_time_deadline_ms(), 101_000);
}

#[test]
fn a_task_that_used_up_its_share_is_not_tried_again_and_the_planner_hears_why() {
    for code in [
        ErrorCode::StepsUsedUp,
        ErrorCode::TokensUsedUp,
        ErrorCode::MoneyUsedUp,
        ErrorCode::BudgetUsedUp,
        ErrorCode::TimeUsedUp,
    ] {
        let mut told = Told::of(planned(100, 10_000, 10));
        told.plans(1, &create(&["a"]), 10);
        let failure = Some(Failure::new(code, "3"));
        let seen = told.tell(ended(&task(1, 1), 3, 100, RunStatus::Failed, failure));
        assert_eq!(seen, ["s1.1.end", "s1.1.step"]);
        let due = told.run().due();
        assert!(
            matches!(&due[0], Effect::CallModel(call) if call.message == MessageId::for_turn(2))
        );
    }
}

#[test]
fn a_run_whose_tokens_are_used_up_stops_its_tasks_and_sums_up_what_there_is() {
    let mut told = Told::of(planned(100, 10_000, 10));
    told.plans(1, &create(&["a", "b", "c"]), 1_000);
    told.ends(&task(1, 1), 1, 100, RunStatus::Finished);
    // One call more than its share, and a large one.
    let seen = told.ends(&task(3, 1), 2, 9_000, RunStatus::Finished);
    assert_eq!(seen, ["s3.1.end", "s3.1.step", "s2.1.end"]);
    let due: Vec<String> = told.run().due().iter().map(|effect| effect.id().to_string()).collect();
    assert_eq!(due, ["deliver:stop_child:s2.1", "model:summary", "plan:1", "wait:wall_time"]);
    // The summary is written from what the two found.
    let known = format!("{:?}", told.run().conversation().items);
    assert!(known.contains("What s1.1 found.") && known.contains("What s3.1 found."), "{known}");
    told.tell(story::replied("summary", "Two of three.", &[]));
    let ending = told.ending();
    assert_eq!((ending.status, ending.answer.as_str()), (RunStatus::Failed, "Two of three."));
    assert_eq!(ending.failure, Some(Failure::new(ErrorCode::TokensUsedUp, "10000")));
    assert_eq!(ending.spent.tokens(), 1_000 + 100 + 9_000 + 110);
}

#[test]
fn the_turns_of_a_run_and_its_tasks_are_one_budget() {
    let mut told = Told::of(planned(5, 1_000_000, 10));
    told.plans(1, &create(&["a", "b"]), 10);
    assert_eq!(told.shares().values().map(|(steps, _)| steps).sum::<u32>(), 2);
    told.ends(&task(1, 1), 1, 10, RunStatus::Finished);
    told.ends(&task(2, 1), 1, 10, RunStatus::Finished);
    told.plans(2, &json!({"command": "mark_step", "step_index": 1, "step_status": "completed"}), 1);
    told.plans(3, &json!({"command": "mark_step", "step_index": 2, "step_status": "completed"}), 1);
    told.tell(story::replied("summary", "That was it.", &[]));
    let failure = Some(Failure::new(ErrorCode::StepsUsedUp, "5"));
    assert_eq!((&told.ending().failure, told.ending().spent.steps), (&failure, 5));
}

#[test]
fn tokens_end_a_react_run_after_the_turn_that_passes_them() {
    let mut asked = story::asked("why?");
    asked.settings.budget.tokens = 200;
    let mut told = Told::of(asked);
    told.tell(story::replied("t1", "I look.", &[("read", json!({"of": "a"}))]));
    told.tell(story::returned("t1.c1", "fine"));
    told.tell(story::replied("t2", "I look on.", &[("read", json!({"of": "b"}))]));
    // What was asked for is still done; it costs no tokens.
    told.tell(story::returned("t2.c1", "fine"));
    assert!(matches!(&told.run().due()[0], Effect::CallModel(call) if call.message.is_summary()));
    told.tell(story::replied("summary", "So far.", &[]));
    assert_eq!(told.ending().failure, Some(Failure::new(ErrorCode::TokensUsedUp, "200")));
}

#[test]
fn money_ends_a_run_after_the_turn_that_passes_it_and_the_end_says_what_was_spent() {
    let mut asked = story::asked("why?");
    asked.settings.budget.micro_usd = Some(250_000);
    let mut told = Told::of(asked);
    let turn = |turn: &str, of: &str| {
        let mut replied = story::replied(turn, "I look.", &[("read", json!({"of": of}))]);
        if let Input::ModelReplied(replied) = &mut replied {
            replied.reply.usage.micro_usd = 125_000;
        }
        replied
    };
    told.tell(turn("t1", "a"));
    told.tell(story::returned("t1.c1", "fine"));
    assert!(matches!(&told.run().due()[0], Effect::CallModel(call) if !call.message.is_summary()));
    told.tell(turn("t2", "b"));
    told.tell(story::returned("t2.c1", "fine"));
    told.tell(story::replied("summary", "So far.", &[]));
    assert_eq!(told.ending().failure, Some(Failure::new(ErrorCode::MoneyUsedUp, "0.25")));
    assert_eq!(told.ending().spent.usage.micro_usd, 250_000);
}

#[test]
fn tasks_share_the_money_that_is_left() {
    let mut asked = planned(100, 1_000_000, 10);
    asked.settings.budget.micro_usd = Some(900);
    let mut told = Told::of(asked);
    told.plans(1, &create(&["a", "b"]), 10);
    let share =
        |told: &Told, n| told.run().child_spec(&task(n, 1)).unwrap().settings.budget.micro_usd;
    assert_eq!((share(&told, 1), share(&told, 2)), (Some(300), Some(300)));
}

#[test]
fn a_failed_attempt_that_passes_the_budget_is_the_last() {
    let mut asked = story::asked("why?");
    asked.settings.budget.tokens = 200;
    let mut told = Told::of(asked);
    let usage = Usage { input_tokens: 300, ..Usage::default() };
    told.tell(failed("t1", 1, usage, (1, false)));
    assert!(matches!(&told.run().due()[0], Effect::CallModel(call) if call.message.is_summary()));
}

/// Attempts that failed: how many, and whether silently.
fn failed(message: &str, attempt: u32, usage: Usage, (times, silent): (u32, bool)) -> Input {
    let failed = story::attempt_failed(message, attempt);
    Input::AttemptFailed(Box::new(AttemptFailed {
        usage,
        failed_attempts: times,
        silent,
        ..failed
    }))
}

#[test]
fn attempts_that_nobody_saw_are_charged_and_counted_and_take_nothing_back() {
    let mut told = Told::of(story::asked("why?"));
    let owed = |told: &Told| match told.run().due().swap_remove(0) {
        Effect::CallModel(call) => (call.attempt, call.retries),
        effect => panic!("{effect:?}"),
    };
    let usage = Usage { input_tokens: 300, took_ms: 7, ..Usage::default() };
    assert!(told.tell(failed("t1", 1, usage, (2, true))).is_empty());
    assert_eq!(owed(&told), (2, 2));
    assert_eq!((told.run().spending().usage, told.run().spending().model_calls), (usage, 1));
    // It is taken once.
    let spent = *told.run().spending();
    told.tell(failed("t1", 1, usage, (2, true)));
    assert_eq!((owed(&told), *told.run().spending()), ((2, 2), spent));
    // What cost nothing is no call.
    told.tell(failed("t1", 2, Usage { took_ms: 9, ..Usage::default() }, (1, true)));
    assert_eq!((owed(&told), *told.run().spending()), ((3, 3), spent));
    assert_eq!(told.tell(failed("t1", 3, Usage::default(), (2, false))), ["t1.reset3"]);
    assert_eq!(owed(&told), (4, 5));
    told.tell(story::model_changed("t1"));
    assert_eq!(owed(&told), (4, 0));
}

#[test]
fn a_tasks_tool_calls_join_its_runs_conversation_only_where_they_are_to_be_kept() {
    for clear in [true, false] {
        let mut asked = planned(100, 1_000_000, 10);
        asked.settings.plan.clear_tool_context = clear;
        let mut told = Told::of(asked);
        told.plans(1, &create(&["a", "b"]), 10);
        // The second step's task ends first; the plan's order is kept.
        for step in [2, 1] {
            let mut task = Told::of(told.run().child_spec(&task(step, 1)).unwrap());
            let large = "x".repeat(50_000);
            task.tell(story::replied("t1", "I write.", &[("read", json!({"of": large}))]));
            task.tell(story::returned("t1.c1", &"y".repeat(50_000)));
            task.tell(story::replied("t2", &format!("Step {step} is done."), &[]));
            told.tell(Input::ChildEnded(Box::new(task.run().child_result().unwrap().clone())));
        }
        let known = format!("{:?}", told.run().conversation().items);
        let places = ["s1.1.t1.c1", "s2.1.t1.c1", "Step 1 is done."].map(|text| known.find(text));
        assert_eq!(places[0].is_some(), !clear);
        assert!(places.is_sorted() && places[2].is_some(), "{places:?}");
        assert!(known.len() < 20_000, "{} bytes", known.len());
        // It is told once, also in the next round.
        told.plans(2, &json!({"command": "update", "steps": ["a", "b", "c"]}), 10);
        told.ends(&task(3, 1), 1, 10, RunStatus::Finished);
        let known = format!("{:?}", told.run().conversation().items);
        assert!(known.matches("s1.1.t1.c1").count() <= 1);
    }
}

#[test]
fn a_budget_of_before_there_were_tokens_still_holds() {
    let budget: djinn_core::budget::Budget =
        serde_json::from_value(json!({"steps": 40, "wall_ms": 1_000})).unwrap();
    assert_eq!(budget.tokens, 50_000_000);
}

/// The tokens of the largest call in these schedules.
const CALL: u64 = 400;

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn spending_and_holds_pass_the_budget_by_at_most_one_call_per_agent(
        run_steps in 1u32..60, tokens in 1u64..20_000, max_tasks in 1u32..6,
        // Who of those at work ends, the part of its share it used in percent, the tokens of its last
        // call, and whether it did what it was to do.
        moves in proptest::collection::vec((0usize..8, 0u8..=100, 0..CALL, any::<bool>()), 1..60),
    ) {
        let mut told = Told::of(planned(run_steps, tokens, max_tasks));
        let (mut turn, mut agents) = (0, BTreeSet::from(["planner".to_owned()]));
        for (who, used, call, good) in moves {
            let at_work = told.run().running_children();
            agents.extend(at_work.iter().map(ToString::to_string));
            match at_work.get(who % at_work.len().max(1)) {
                Some(task) => {
                    let (steps, share) = told.shares()[&task.to_string()];
                    prop_assert!(steps > 0 && share > 0, "{task} began with nothing");
                    let steps = (steps * u32::from(used) / 100).max(1);
                    let spent = (share - 1) * u64::from(used) / 100 + call;
                    let status = if good { RunStatus::Finished } else { RunStatus::Failed };
                    told.ends(&task.clone(), steps, spent, status);
                }
                None if told.run().running_children().is_empty() => {
                    turn += 1;
                    let steps: Vec<String> = (0..=who).map(|n| format!("{turn}.{n}")).collect();
                    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
                    told.plans(turn, &create(&steps), call);
                }
                None => {}
            }
            let (run, shares) = (told.run(), told.shares());
            let held = shares.values().map(|(_, tokens)| tokens).sum::<u64>();
            let over = CALL * agents.len() as u64;
            prop_assert!(run.spending().tokens() + held <= tokens + over);
            let held = shares.values().map(|(steps, _)| steps).sum::<u32>();
            prop_assert!(run.spending().steps + held <= run_steps);
            prop_assert!(shares.len() <= max_tasks as usize);
            // There is always somebody who can go on, and a run that is over budget does not.
            let due = run.due();
            let waits = |effect: &Effect| matches!(effect, Effect::Wait { .. });
            prop_assert!(!due.iter().all(waits), "it is stuck");
            if run.spending().tokens() >= tokens || run.spending().steps >= run_steps {
                let works = |effect: &Effect| matches!(effect, Effect::RunChild(_));
                prop_assert!(!due.iter().any(works), "tasks go on: {due:?}");
                let stopped = at_work.iter().filter(|task| {
                    due.contains(&Effect::Deliver(Delivery::StopChild((*task).clone())))
                });
                prop_assert_eq!(stopped.count(), at_work.len().saturating_sub(1));
                return Ok(());
            }
        }
    }

    #[test]
    fn shares_are_a_function_of_the_journal(
        moves in proptest::collection::vec((0usize..8, 1u8..=100), 1..30),
    ) {
        let mut told = Told::of(planned(500, 100_000, 3));
        told.plans(1, &create(&["a", "b", "c", "d", "e"]), 100);
        for (who, used) in moves {
            let at_work = told.run().running_children();
            let Some(task) = at_work.get(who % at_work.len().max(1)) else { break };
            let (steps, tokens) = told.shares()[&task.to_string()];
            let part = |whole: u64| whole * u64::from(used) / 100;
            let steps = u32::try_from(part(steps.into())).unwrap();
            told.ends(&task.clone(), steps, part(tokens), RunStatus::Finished);
            let again = Told {
                journal: Journal::fold(&told.records).unwrap(),
                records: Vec::new(),
            };
            prop_assert_eq!(again.shares(), told.shares());
        }
        prop_assert_eq!(&told.run().spec().settings.mode, Machine::PlanSolve.as_str());
    }
}
