//! Workflows as a table, like the run's machine.

use djinn_core::effect::Effect;
use djinn_core::entry::Event;
use djinn_core::error_code::ErrorCode;
use djinn_core::id::ChildId;
use djinn_core::journal::{Journal, Record};
use djinn_core::plan::{StepEdit, StepStatus};
use djinn_core::status::RunStatus;
use djinn_core::workflow::{Condition, Reference, Template};
use serde_json::{Value, json};

use crate::machine;
use crate::plan_solve::owed;
use crate::story;
use crate::story::human_requests::edited;
use crate::story::workflow::{asked, asked_for, asked_without_file, input, workflow};

#[test]
fn a_workflow_does_what_its_table_says() {
    machine::check(include_str!("workflow.txt"), asked, input, owed);
    machine::check(include_str!("workflow_parameters.txt"), asked_without_file, input, owed);
}

/// A journal that was told these things, and its records.
fn told(workflow: Value, arguments: &Value, inputs: &[&str]) -> (Journal, Vec<Record>) {
    let (mut journal, first) = Journal::open(asked_for(workflow, arguments), 1, story::write(0), 0);
    let mut records = vec![first];
    for line in inputs {
        let n = journal.next_number();
        let (next, record) =
            journal.decide_record(vec![input(line)], 1, story::write(n), 0).unwrap();
        records.push(record);
        journal = next;
    }
    (journal, records)
}

fn entry_ids(record: &Record) -> Vec<String> {
    record.entries.iter().map(|entry| entry.id.to_string()).collect()
}

fn final_result(records: &[Record]) -> (RunStatus, String, Option<String>) {
    let last = records.last().unwrap().entries.last().unwrap();
    let Event::RunEnded(result) = &last.event else { panic!("{last:?}") };
    let failure = result.failure.as_ref().map(ToString::to_string);
    (result.status, result.answer.clone(), failure)
}

const FILE: &str = "sales.csv";

#[test]
fn record_0_holds_the_plan_and_the_first_steps() {
    let (journal, records) = told(workflow(), &json!({"file": FILE}), &[]);
    assert_eq!(entry_ids(&records[0]), ["start", "plan", "s1.1.start"]);
    let plan = journal.run().current_plan().unwrap().to_markdown();
    let expected = "# Weekly\n\n\
        - [ ] s1 split: Split sales.csv. …\n\
        - [ ] s2 each: Sum up {{ item }}.\n\
        - [ ] s3 check: Check `each`.\n\
        - [ ] s4 report: Report on `each` of sales.csv ({{ steps.split.0 }} first).\n";
    assert_eq!(plan, expected);
    let due: Vec<_> = journal.run().due().iter().map(|effect| effect.id().to_string()).collect();
    assert_eq!(due, ["child:s1.1", "plan:1", "wait:wall_time"]);
    // The stored form is the same again.
    let spec = serde_json::to_value(journal.run().spec()).unwrap();
    assert_eq!(
        serde_json::from_value::<djinn_core::input::RunSpec>(spec).unwrap(),
        *journal.run().spec()
    );
}

#[test]
fn a_step_receives_its_task_its_arguments_and_the_results_that_the_task_names() {
    let inputs =
        [r#"ends s1.1 ["North", "South"]"#, "ends s6.1 South is low.", "ends s5.1 North is high."];
    let (journal, _) = told(workflow(), &json!({"file": FILE, "detail": "short"}), &inputs);
    // The check is only for full detail.
    let spec = journal.run().child_spec(&ChildId::for_step(4, 1)).unwrap();
    let child = spec.child.as_ref().unwrap();
    assert_eq!(child.description, "Report on `each` of sales.csv (North first).");
    let reports: Vec<_> =
        child.current_round.iter().map(|report| (&*report.description, &*report.text)).collect();
    assert_eq!(reports, [("each (North)", "North is high."), ("each (South)", "South is low.")]);
    let arguments = json!({
        "task": child.description,
        "parts": ["North is high.", "South is low."],
        "name": "sales.csv.md",
        "style": "short",
    });
    assert_eq!(Value::Object(spec.arguments.clone()), arguments);
    assert_eq!(child.tools, Some(vec!["all".to_owned(), "writer".to_owned()]));
    assert_eq!((spec.agent(), spec.workflow()), (None, None));
    assert_eq!(journal.run().agent_of(&ChildId::for_step(4, 1)).unwrap().0, "writer");
}

#[test]
fn an_answer_is_written_without_a_model() {
    let inputs = ["ends s1.1 []", "ends s4.1 The report is in weekly.md."];
    let (journal, records) = told(workflow(), &json!({"file": FILE}), &inputs);
    let end = (RunStatus::Finished, "Written: The report is in weekly.md.".to_owned(), None);
    assert_eq!(final_result(&records), end);
    assert_eq!(journal.run().spending().model_calls, 2 + 2, "those of the steps");
    // Without a template, the last result is the answer.
    let mut plain = workflow();
    plain.as_object_mut().unwrap().remove("answer");
    let (_, records) = told(plain.clone(), &json!({"file": FILE}), &inputs);
    assert_eq!(final_result(&records).1, "The report is in weekly.md.");
    // Without a last result, it is the list of steps.
    plain["steps"][3]["on_error"] = json!("skip");
    let inputs = ["ends s1.1 []", "fails s4.1", "fails s4.2"];
    let (_, records) = told(plain, &json!({"file": FILE}), &inputs);
    assert!(final_result(&records).1.starts_with("# Weekly\n\n- [x] s1 split"), "{records:?}");
}

#[test]
fn a_failure_names_its_step() {
    let (_, records) = told(workflow(), &json!({"file": FILE}), &["fails s1.1"]);
    let (status, _, failure) = final_result(&records);
    assert_eq!(status, RunStatus::Failed);
    assert!(failure.unwrap().starts_with("step_failed: `split`. "), "{records:?}");
    let mut strict = workflow();
    strict["steps"][1]["on_error"] = json!("stop");
    for result in [
        "no list",
        &format!("[{}0]", "0,".repeat(1_000)),
        &format!("[\"{}\"]", "x".repeat(1 << 20)),
    ] {
        let (_, records) =
            told(strict.clone(), &json!({"file": FILE}), &[&format!("ends s1.1 {result}")]);
        assert_eq!(final_result(&records).2.unwrap(), "bad_list: `steps.split`");
    }
    let inputs = [&*format!("ends s1.1 [{}0]", "0,".repeat(999))];
    let (journal, _) = told(strict, &json!({"file": FILE}), &inputs);
    let steps = journal.run().current_plan().unwrap().steps().len();
    assert_eq!((steps, journal.run().running_children().len()), (1_003, 10));
}

#[test]
fn a_workflow_that_ends_at_once_waits_for_its_plans_file() {
    let step =
        json!({"id": "a", "task": "Do it.", "depends_on": [], "retry": 0, "when": "not file"});
    let nothing = json!({"title": "Nothing", "steps": [step]});
    let (journal, records) = told(nothing, &json!({"file": FILE}), &[]);
    assert_eq!(entry_ids(&records[0]), ["start", "plan", "s1.1.step"]);
    assert_eq!(journal.run().status(), RunStatus::Running);
    let (journal, record) =
        journal.decide_record(vec![input("kept 1")], 1, story::write(1), 0).unwrap();
    let end = (RunStatus::Finished, "# Nothing\n\n- [ ] s1 a: Do it. (skipped)\n".to_owned(), None);
    let (status, answer, failure) = final_result(&[record]);
    assert_eq!((status, answer.trim_end(), failure), (end.0, end.1.trim_end(), end.2));
    assert_eq!(owed(journal.run()), ["deliver:alarm_removal"]);
    // A missing argument that nobody may be asked for ends it as well.
    let (journal, _) = told(workflow(), &json!({}), &[]);
    let (_, record) = journal.decide_record(vec![input("kept 1")], 1, story::write(1), 0).unwrap();
    assert_eq!(final_result(&[record]).2.unwrap(), "parameter_missing: `file`");
}

#[test]
fn missing_arguments_are_asked_for_by_their_description() {
    let (journal, record) = Journal::open(asked_without_file(""), 1, story::write(0), 0);
    assert_eq!(entry_ids(&record), ["start", "plan", "before.c1.requested"]);
    let request = journal.run().pending_requests().next().unwrap();
    assert!(request.subject.is_question());
    let (_, _, arguments) = request.subject.call().unwrap();
    assert_eq!(arguments["questions"], json!(["file: The table."]));
    // The run pauses once the plan is in its file.
    let (journal, _) = journal.decide_record(vec![input("kept 1")], 1, story::write(1), 0).unwrap();
    assert_eq!(journal.run().status(), RunStatus::Paused);
    let (journal, record) = journal
        .decide_record(vec![input("says before.c1 sales.csv")], 1, story::write(2), 0)
        .unwrap();
    assert_eq!(entry_ids(&record).len(), 3);
    let spec = journal.run().child_spec(&ChildId::for_step(1, 1)).unwrap();
    assert_eq!(spec.description(), "Split sales.csv.");
}

#[test]
fn a_user_edits_the_plan_of_a_workflow_at_work() {
    let (journal, _) = told(workflow(), &json!({"file": FILE}), &["kept 1"]);
    let version = journal.run().plan_version();
    let steps = journal.run().current_plan().unwrap().steps().to_vec();
    let edit = |id: usize, details: &str, on: &[usize]| StepEdit {
        id: Some(steps[id].id),
        stage: steps[id].stage.clone(),
        details: details.to_owned(),
        depends_on: on.iter().copied().collect(),
        agent: None,
    };
    let added = StepEdit { details: "Count the lines.".to_owned(), ..StepEdit::default() };
    let edits = vec![
        edit(0, &steps[0].details, &[]),
        edit(1, "Sum up {{ item }} in one line.", &[1]),
        edit(3, &steps[3].details, &[2]),
        added,
    ];
    let told = edited("e1", version, edits);
    let (journal, record) = journal.decide_record(vec![told], 1, story::write(2), 0).unwrap();
    assert_eq!(entry_ids(&record), ["edit.e1", "s5.1.start"]);
    let list = input(r#"ends s1.1 ["North"]"#);
    let (journal, record) = journal.decide_record(vec![list], 1, story::write(3), 0).unwrap();
    assert_eq!(entry_ids(&record), ["s1.1.end", "s1.1.step", "steps.s2.plan", "s6.1.start"]);
    let spec = journal.run().child_spec(&ChildId::for_step(6, 1)).unwrap();
    assert_eq!(spec.description(), "Sum up North in one line.");
    let ends = ["ends s5.1", "ends s6.1 It is high.", "ends s4.1 weekly.md"];
    let journal = ends.iter().zip(4..).fold(journal, |journal, (line, n)| {
        journal.decide_record(vec![input(line)], 1, story::write(n), 0).unwrap().0
    });
    assert_eq!(journal.run().status(), RunStatus::Finished);
    let statuses = journal.run().current_plan().unwrap().steps().iter().map(|step| step.status);
    assert!(statuses.into_iter().all(|status| status != StepStatus::Blocked));
}

#[test]
fn twenty_steps_in_four_layers_need_no_model_call_of_the_machine() {
    let layer = |n: usize| if n < 5 { Vec::new() } else { ((n / 5 - 1) * 5..n / 5 * 5).collect() };
    let step = |n: usize| json!({"id": format!("s{n}"), "task": "Do it.", "depends_on": layer(n), "retry": 0});
    let steps: Vec<Value> = (0..20).map(step).collect();
    let asked = asked_for(json!({"title": "Layers", "steps": steps}), &json!({"file": FILE}));
    let (mut journal, _) = Journal::open(asked, 1, story::write(0), 0);
    let mut rounds = 0;
    while !journal.run().status().has_ended() {
        let due = journal.run().due();
        assert!(!due.iter().any(|effect| matches!(effect, Effect::CallModel(_))));
        let children = journal.run().running_children();
        assert_eq!(children.len(), 5);
        rounds += 1;
        for child in children {
            let n = journal.next_number();
            let ended = story::task_ended(&child.to_string(), RunStatus::Finished, "Done.");
            journal = journal.decide_record(vec![ended], 1, story::write(n), 0).unwrap().0;
        }
    }
    assert_eq!((rounds, journal.run().spending().model_calls), (4, 20 * 2));
}

#[test]
fn references_templates_and_conditions_are_small() {
    for (text, expected) in [
        ("region", Ok("region")),
        (" steps.read.total.0 ", Ok("steps.read.total.0")),
        ("item.name", Ok("item.name")),
        ("secret:KEY", Err("reads `secret:KEY`: a workflow cannot read secrets or variables")),
        ("env.HOME", Err("reads `env.HOME`: a workflow cannot read secrets or variables")),
        ("steps", Err("has `steps`, which is not a name")),
        ("a | upper", Err("has `a | upper`, which is not a name")),
        ("a..b", Err("has `a..b`, which is not a name")),
    ] {
        match (text.parse::<Reference>(), expected) {
            (Ok(reference), Ok(expected)) => assert_eq!(reference.to_string(), expected),
            (Err(error), Err(expected)) => {
                assert!(error.to_string().starts_with(expected), "{error}");
            }
            (parsed, _) => panic!("{text}: {parsed:?}"),
        }
    }
    let template = Template::parse("A {{a}} and\n{{ b.c }}.").unwrap();
    let written =
        template.render(|reference| (reference.fields.is_empty()).then(|| "x".to_owned()));
    assert_eq!(written, "A x and\n{{ b.c }}.");
    assert_eq!(Template::parse("a\n{{ b").unwrap_err().line, 2);
    for (text, value, holds) in [
        ("a", json!("x"), true),
        ("a", json!(" "), false),
        ("a", json!([]), false),
        ("a", json!(0), true),
        ("not a", json!(null), true),
        ("not {{ a }}", json!({"b": 1}), false),
        ("a == full", json!("full "), true),
        ("a == 'full'", json!("full"), true),
        ("a == 3", json!("3"), true),
        ("a == true", json!(true), true),
        ("a != full", json!("short"), true),
        ("a != full", json!(null), true),
        ("{{ a }} == [1]", json!([1]), true),
    ] {
        let condition: Condition = text.parse().unwrap();
        assert_eq!(condition.holds(&value), holds, "{text} with {value}");
        assert_eq!(condition.to_string().parse::<Condition>().unwrap(), condition);
    }
    assert!(
        "a ==".parse::<Condition>().unwrap_err().to_string().starts_with("compares with nothing")
    );
    let code = ErrorCode::BadList.as_str();
    assert_eq!(code, "bad_list");
}
