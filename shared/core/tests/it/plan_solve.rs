//! Plan-Solve as a table, like the run's machine; and tasks, which are runs one level down.

use djinn_core::conversation::MAX_REPORT;
use djinn_core::effect::{Delivery, Effect, EffectId};
use djinn_core::entry::Event;
use djinn_core::error_code::ErrorCode;
use djinn_core::id::{CallId, ChildId, EntryId};
use djinn_core::journal::Journal;
use djinn_core::language::Language;
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::run::Run;
use djinn_core::settings::{Machine, Role};
use djinn_core::status::RunStatus;
use djinn_core::tool::ToolFailure;
use serde_json::json;

use crate::machine;
use crate::story;
use crate::story::plan_solve::{arguments, input};

#[test]
fn plan_solve_does_what_its_table_says() {
    machine::check(include_str!("plan_solve.txt"), story::asked_to_plan, input, owed);
}

/// `child:s1.1*` may be driven where the run is. That the plan's file is owed has a test of its own.
pub(crate) fn owed(run: &Run) -> Vec<String> {
    let name = |effect: &Effect| match effect {
        Effect::Wait { .. } | Effect::SavePlan { .. } => None,
        Effect::RunChild(dispatch) => {
            let star = if dispatch.alone { "*" } else { "" };
            Some(machine::waiting(dispatch.waits, format!("{}{star}", effect.id())))
        }
        Effect::CallModel(call) if call.attempt > 1 => {
            Some(format!("{}#{}", effect.id(), call.attempt))
        }
        effect => Some(effect.id().to_string()),
    };
    run.due().iter().filter_map(name).collect()
}

/// A journal that was told these things.
fn told(inputs: &[&str]) -> (Journal, Vec<Event>) {
    let (mut journal, _) = Journal::open(story::asked_to_plan("why?"), 1, story::write(0), 0);
    let mut events = Vec::new();
    for line in inputs {
        let n = journal.next_number();
        let (next, record) =
            journal.decide_record(vec![input(line)], 1, story::write(n), 0).unwrap();
        events.extend(record.entries.into_iter().map(|entry| entry.event));
        journal = next;
    }
    (journal, events)
}

#[test]
fn the_newest_plan_is_owed_to_its_file_until_it_is_kept() {
    let owed = |inputs: &[&str]| {
        let due = told(inputs).0.run().due();
        due.iter()
            .filter_map(|effect| match effect {
                Effect::SavePlan { version } => Some(*version),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    let create = "plans t1 create a; b";
    assert_eq!(owed(&[create]), [1]);
    assert!(owed(&[create, "kept 1"]).is_empty());
    let update = ["task_done s1.1", "task_done s2.1", "plans t2 update a; b; c"];
    let updated = [&[create], update.as_slice()].concat();
    assert_eq!(owed(&updated), [1], "one at a time");
    let kept = [updated.as_slice(), &["kept 1"]].concat();
    assert_eq!(owed(&kept), [2]);
    let (journal, _) = told(&updated);
    let plan = journal.run().plan().unwrap().to_markdown();
    assert_eq!(plan, "# t\n\n- [x] s1 a\n- [x] s2 b\n- [ ] s3 c …\n");
    // An answer that comes too late, or for nothing, is no news.
    let late = input("kept 2");
    assert!(journal.decide_record(vec![late], 1, story::write(9), 0).is_none());
    // It is kept while the summary is written, too.
    let finished = ["kept 2", "task_done s3.1", "plans t3 finish"];
    assert_eq!(owed(&[kept.as_slice(), &finished].concat()), [3]);
}

#[test]
fn a_task_knows_its_step_what_came_before_and_why_it_is_tried_again() {
    let (journal, _) = told(&["plans t1 create a; b<; c<1", "task_done s1.1", "task_failed s2.1"]);
    let run = journal.run();
    let third = run.child_spec(&ChildId::for_step(3, 1)).unwrap();
    let task = third.child.as_ref().unwrap();
    assert_eq!(task.description, "c");
    let before: Vec<_> = task.current_round.iter().map(|report| report.child.to_string()).collect();
    assert_eq!(before, ["s1.1"]);
    assert!(third.files.iter().any(|file| file.name.as_str() == "s1.1.md"));
    let again = run.child_spec(&ChildId::for_step(2, 2)).unwrap().child.unwrap();
    assert_eq!(again.current_round, [], "it does not wait for step 1");
    let failed = again.previous_failure.unwrap();
    assert_eq!(failed.text, "It cannot be done.");
    assert_eq!(failed.failure.unwrap().code, ErrorCode::ModelUnreachable);
    assert_eq!(run.child_spec(&ChildId::for_step(2, 1)), None);
    assert_eq!(run.spending().model_calls, 1 + 2 + 2);
}

#[test]
fn a_task_works_like_a_run_and_owes_its_outcome_instead_of_an_end() {
    let (journal, _) = told(&["plans t1 create a"]);
    let asked = journal.run().child_spec(&ChildId::for_step(1, 1)).unwrap();
    let (mut task, first) = Journal::open(asked, 1, story::write(0), 0);
    assert!(first.entries.is_empty());
    let due = task.run().due();
    assert!(matches!(&due[0], Effect::CallModel(call) if call.role == Role::Executor), "{due:?}");

    let long = "long ".repeat(2_000);
    for input in [
        story::replied("t1", "I write.", &[("file_tool", json!({"of": "x"}))]),
        story::wrote("t1.c1", "a.md"),
        story::replied("t2", &long, &[]),
    ] {
        let n = task.next_number();
        let (next, record) = task.decide_record(vec![input], 1, story::write(n), 0).unwrap();
        assert!(record.entries.iter().all(|entry| entry.id != EntryId::end()));
        task = next;
    }

    let ids: Vec<EffectId> = task.run().due().iter().map(Effect::id).collect();
    assert_eq!(ids, [EffectId::Deliver(Delivery::ChildResult)]);
    let outcome = task.run().child_result().unwrap();
    assert_eq!(outcome.status, RunStatus::Finished);
    assert_eq!(outcome.report.text.len(), MAX_REPORT);
    assert_eq!(outcome.report.files[0].as_str(), "a.md");
    assert_eq!((outcome.spent.model_calls, outcome.spent.tool_calls), (2, 1));
    assert_eq!(task.run().spec().settings.mode, Machine::PlanSolve.as_str());
}

#[test]
fn a_task_that_uses_up_its_turns_says_so_and_what_it_found() {
    let (journal, _) = told(&["plans t1 create a"]);
    let mut asked = journal.run().child_spec(&ChildId::for_step(1, 1)).unwrap();
    asked.settings.budget.steps = 1;
    let (mut run, _) = Run::start(asked, 0);
    run.apply_input(&story::replied("t1", "So far: 3.", &[("read", json!({"of": "x"}))]), 0)
        .unwrap();
    run.apply_input(&story::failed("t1.c1", ToolFailure::Error), 0).unwrap();
    let outcome = run.child_result().unwrap();
    assert!(!outcome.report.done);
    assert_eq!(outcome.report.text, "So far: 3.");
    assert_eq!(outcome.report.failure.as_ref().unwrap().code, ErrorCode::StepsUsedUp);
    let told = outcome.report.full_text(Language::En);
    assert!(told.starts_with("The step budget of 1 is used up."), "{told}");
    assert!(told.ends_with("\n\nSo far: 3."), "{told}");
}

#[test]
fn the_planning_tool_is_answered_with_the_plan_or_with_what_is_wrong() {
    let (_, events) = told(&["plans t1 create a<2; b<1", "plans t2 create a; b"]);
    let outcome = |call: &str| {
        let call = CallId::new(call).unwrap();
        let found = events.iter().find_map(|event| match event {
            Event::CallCompleted { call: of, result: outcome } if *of == call => Some(outcome),
            _ => None,
        });
        serde_json::to_value(found.unwrap()).unwrap()
    };
    let wrong = outcome("t1.c1");
    let error = json!({"problem": "cycle", "steps": [1, 2]});
    assert_eq!(wrong, json!({"status": "plan_refused", "error": error}));
    let right = outcome("t2.c1");
    assert_eq!(right["view"]["plan"]["steps"][1]["depends_on"], json!([1]));
    assert!(matches!(&events[0], Event::MessageCompleted { .. }));
    let requested = Event::CallRequested {
        call: CallId::new("t1.c1").unwrap(),
        tool: PLANNING_TOOL.to_owned(),
        arguments: arguments("create a<2; b<1"),
        visible: false,
    };
    assert_eq!(events[1], requested);
}
