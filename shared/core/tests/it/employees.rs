//! Digital employees: the call that names them as a table, and what is read from its reply.

use std::collections::BTreeMap;

use djinn_core::budget::Usage;
use djinn_core::effect::{Delivery, Effect, EffectId};
use djinn_core::entry::Event;
use djinn_core::id::{ChildId, MessageId};
use djinn_core::input::{Input, RunSpec};
use djinn_core::journal::{Journal, Record};
use djinn_core::run::Run;
use djinn_core::settings::{PlanSettings, Role};
use serde_json::{Value, json};

use crate::machine;
use crate::story;

#[test]
fn employees_do_what_their_table_says() {
    let cases =
        machine::check(include_str!("employees.txt"), story::asked_as_a_task, input, machine::owed);
    assert_eq!(cases, 9);
}

fn input(line: &str) -> Input {
    match line.split_once(' ') {
        Some(("names", text)) => story::names(text),
        _ if line == "delivered_outcome" => Input::Delivered { delivery: Delivery::ChildResult },
        _ => story::machine::input(line),
    }
}

/// What a task knows of its employees once it was told this.
fn roles(reply: &str) -> BTreeMap<String, String> {
    let (_, records) = story::journal_of(story::asked_as_a_task("why?"), vec![story::names(reply)]);
    let entries = records.iter().flat_map(|record| &record.entries);
    let named = entries.filter_map(|entry| match &entry.event {
        Event::EmployeesNamed { roles, .. } => Some(roles.clone()),
        _ => None,
    });
    let mut named: Vec<_> = named.collect();
    assert!(named.len() <= 1, "{named:?}");
    named.pop().unwrap_or_default()
}

#[test]
fn only_the_roles_of_offered_tools_are_read_from_a_reply() {
    let clerk = || BTreeMap::from([("file_tool".to_owned(), "Records clerk".to_owned())]);
    let json = r#"{"file_tool": "Records clerk"}"#;
    for reply in [
        json.to_owned(),
        format!("```json\n{json}\n```"),
        format!("Here {{they}} are:\n```json\n{json}\n```\nI hope {{that}} helps."),
        format!("```json\n{json}"),
        format!("```\n{json}\n```"),
        // Unknown tools, and what is no name.
        r#"{"file_tool": " Records clerk\n", "dance": "Dancer", "read": 7, "send": ["Courier"]}"#
            .to_owned(),
        r#"{"file_tool": "Records clerk", "read": "", "send": "a\u0007b"}"#.to_owned(),
        json!({"file_tool": "Records clerk", "read": "员".repeat(14)}).to_string(),
    ] {
        assert_eq!(roles(&reply), clerk(), "{reply}");
    }
    let longest = "员".repeat(13);
    assert_eq!(roles(&json!({"read": longest}).to_string())["read"], longest);
    for nothing in ["", "{", "}{", "[]", "null", r#"{"file_tool": "#, r#"["file_tool"]"#, "```json"]
    {
        assert_eq!(roles(nothing), BTreeMap::new(), "{nothing}");
    }
    let deep = format!("{}1{}", r#"{"file_tool":"#.repeat(5_000), "}".repeat(5_000));
    assert_eq!(roles(&deep), BTreeMap::new());
}

#[test]
fn at_most_64_tools_have_roles() {
    let names: Vec<String> = (0..100).map(|nth| format!("tool_{nth}")).collect();
    let all: Value = names.iter().map(|name| (name.clone(), json!("Clerk"))).collect();
    let Input::ModelReplied(mut replied) = story::names(&all.to_string()) else { unreachable!() };
    let tool = replied.offered[0].clone();
    let named =
        |name: &String| djinn_core::tool::OfferedTool { name: name.clone(), ..tool.clone() };
    replied.offered = names.iter().map(named).collect();
    let (mut run, _) = Run::start(story::asked_as_a_task("why?"), 0);
    let entries = run.apply_input(&Input::ModelReplied(replied), 0).unwrap();
    let Event::EmployeesNamed { roles, .. } = &entries[0].event else { panic!("{entries:?}") };
    assert_eq!(roles.len(), 64);
}

fn owes_employees(asked: RunSpec) -> bool {
    let (run, _) = Run::start(asked, 0);
    run.due().iter().any(|owed| owed.id() == EffectId::Model(MessageId::employees()))
}

#[test]
fn only_tasks_have_employees_and_only_where_that_is_wanted() {
    let wanted = |mut asked: RunSpec, wanted| {
        asked.settings.plan.employees = wanted;
        asked
    };
    for (asked, owed) in [
        (wanted(story::asked_as_a_task("why?"), true), true),
        (wanted(story::asked_as_a_task("why?"), false), false),
        (wanted(story::asked_to_plan("why?"), true), false),
        (wanted(story::asked("why?"), true), false),
    ] {
        let about = format!("{:?} {}", asked.child, asked.settings.plan.employees);
        assert_eq!(owes_employees(asked), owed, "{about}");
    }
    // A task has its run's settings; the runs of before there were employees have none.
    let (journal, _) = story::journal_of(
        wanted(story::asked_to_plan("why?"), true),
        vec![story::prices().swap_remove(0)],
    );
    assert!(owes_employees(journal.run().child_spec(&ChildId::for_step(1, 1)).unwrap()));
    let old: PlanSettings = serde_json::from_value(json!({"max_steps": 100})).unwrap();
    assert!(!old.employees);
}

#[test]
fn the_call_offers_no_tool_and_has_a_role_of_its_own() {
    let (run, _) = Run::start(story::asked_as_a_task("why?"), 0);
    let due = run.due();
    let [Effect::CallModel(turn), Effect::CallModel(call), Effect::Wait { .. }] = &due[..] else {
        panic!("{due:?}")
    };
    assert_eq!((turn.role, call.role), (Role::Executor, Role::Employees));
    assert_eq!(call.tool_choice, djinn_core::effect::ToolChoice::None);
}

/// A journal after these inputs, and after its records were read again.
fn told(asked: RunSpec, inputs: Vec<Input>) -> Run {
    let (journal, records) = story::journal_of(asked, inputs);
    let json = serde_json::to_string(&records).unwrap();
    let read: Vec<Record> = serde_json::from_str(&json).unwrap();
    assert_eq!(Journal::fold(&read).unwrap(), journal);
    journal.run().clone()
}

#[test]
fn the_cost_of_naming_employees_counts_and_ends_no_turn() {
    let names = || story::names(r#"{"read": "Reader"}"#);
    let mut asked = story::asked_as_a_task("why?");
    // One call uses all of it up; a turn counts that.
    asked.settings.budget.tokens = 100;
    let run = told(asked.clone(), vec![names()]);
    assert_eq!(
        (run.spending().model_calls, run.spending().steps, run.spending().tokens()),
        (1, 0, 110)
    );
    assert!(!run.status().has_ended());
    let reads = story::replied("t1", "I read.", &[("read", json!({"of": "a"}))]);
    let run = told(asked.clone(), vec![names(), reads.clone()]);
    assert!(!run.status().has_ended(), "its calls are answered");
    let run = told(asked.clone(), vec![names(), reads, story::returned("t1.c1", "fine")]);
    assert!(run.status().has_ended());
    // An answer is an answer, whatever it cost.
    let run = told(asked.clone(), vec![names(), story::replied("t1", "It is 4.", &[])]);
    assert!(run.child_result().unwrap().report.done);
    asked.settings.budget.tokens = 1_000;
    let run = told(asked, vec![story::broke_off("employees", 1), names()]);
    assert_eq!(run.spending().model_calls, 2);
}

#[test]
fn calls_that_die_with_their_driver_are_counted_one_by_one() {
    let lost = Some(Usage { input_tokens: 300, ..Usage::default() });
    let died = |epoch| Input::Resumed { epoch, lost_usage: lost, isolated: true };
    let run = told(story::asked_as_a_task("why?"), vec![died(2)]);
    assert_eq!((run.spending().lost_calls, run.spending().tokens()), (2, 300));
    let named = story::names(r#"{"read": "Reader"}"#);
    let run = told(story::asked_as_a_task("why?"), vec![named, died(2)]);
    assert_eq!((run.spending().lost_calls, run.spending().tokens()), (1, 410));
}
