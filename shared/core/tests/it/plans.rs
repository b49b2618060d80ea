//! Plans: how steps are read, when they are ready, what survives an update.

use std::collections::BTreeSet;

use djinn_core::id::StepId;
use djinn_core::plan::{
    MAX_STEP, MAX_TITLE, Plan, PlanCommand, PlanError, StepDraft, StepEdit, StepStatus, StepText,
    parse_drafts,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn lines(lines: &[&str]) -> Vec<StepText> {
    lines.iter().map(|&line| StepText { stage: None, text: line.to_owned() }).collect()
}

/// Each step as `details<numbers`.
fn read(list: &[&str], depends_on: Option<&[&[usize]]>) -> Vec<String> {
    let depends_on: Option<Vec<BTreeSet<usize>>> =
        depends_on.map(|all| all.iter().map(|on| on.iter().copied().collect()).collect());
    shown(&parse_drafts(&lines(list), depends_on.as_deref()).unwrap())
}

fn shown(drafts: &[StepDraft]) -> Vec<String> {
    drafts
        .iter()
        .map(|draft| {
            let on: Vec<_> = draft.depends_on.iter().map(ToString::to_string).collect();
            match draft.stage.as_str() {
                "" => format!("{} < {}", draft.details, on.join(",")),
                stage => format!("[{stage}] {} < {}", draft.details, on.join(",")),
            }
        })
        .collect()
}

/// The steps of a `create`, or why there are none.
fn created(steps: &Value, depends_on: &Value) -> Result<Vec<String>, String> {
    let arguments = json!({"command": "create", "steps": steps, "depends_on": depends_on});
    let Value::Object(arguments) = arguments else { panic!("no object") };
    match PlanCommand::parse(&arguments) {
        Ok(PlanCommand::Create { steps, .. }) => Ok(shown(&steps)),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn dependencies_are_read_as_models_write_them() {
    let by_itself = ["[Search] gold < ", "[Search] silver < ", "[Report] both < 1,2"];
    for on in [
        json!([[], [], [1, 2]]),
        json!([[], [], ["1", "2"]]),
        json!([null, "", ["s1", "Step 2"]]),
        json!(["none", "N/A", "1, 2"]),
        json!([[], [], "steps 1 and 2"]),
        json!([[], [], [1.0, "#2"]]),
        json!([[], [], ["gold", "SILVER"]]),
        json!([[], [], ["Search: gold", "search: silver"]]),
        json!([[], [], [{"step": 1}, {"id": "2"}]]),
        json!([[], [], ["步骤1", "第2步"]]),
        json!([[], [], [[1], [2]]]),
        json!({"3": [1, "2"]}),
        json!({"Report": "1;2"}),
        json!("[[], [], [1, 2]]"),
    ] {
        let steps = json!(["Search: gold", "Search: silver", "Report: both"]);
        assert_eq!(created(&steps, &on).unwrap(), by_itself, "{on}");
    }
    let one_after_the_other = ["a < ", "b < 1"];
    for on in [Value::Null, json!(""), json!("none")] {
        assert_eq!(created(&json!(["a", "b"]), &on).unwrap(), one_after_the_other, "{on}");
    }
}

#[test]
fn steps_are_read_as_models_write_them() {
    let named = ["[Search] find gold < ", "[Report] write it < 1"];
    for steps in [
        json!([{"stage": "Search", "details": "find gold"}, {"name": "Report", "task": "write it"}]),
        json!([{"title": "1. Search", "description": "find gold"}, {"title": "2. Report", "content": "write it"}]),
        json!([{"id": 7, "title": "Search", "action": "find gold"},
            {"id": 9, "title": "Report", "text": "write it", "depends_on": [7]}]),
        json!([{"id": "look", "title": "Search", "details": ["find gold"]},
            {"id": "tell", "title": "Report", "details": "write it", "dependencies": "look"}]),
        json!([{"index": 0, "title": "Search", "details": "find gold"},
            {"index": 1, "title": "Report", "details": "write it", "dependsOn": [0]}]),
        json!([{"step": 1, "description": "Search: find gold"}, {"step": "Report: write it"}]),
        json!(["Search: find gold", {"title": "Report: write it"}]),
        json!("1. Search: find gold\n2. Report: write it\n"),
        json!("- Search: find gold\n- Report: write it"),
        json!([{"step": "Step 1: Search: find gold"}, {"step": "2. Report: write it"}]),
        json!(r#"["Search: find gold", "Report: write it"]"#),
    ] {
        assert_eq!(created(&steps, &Value::Null).unwrap(), named, "{steps}");
    }
    let at_once =
        json!([{"title": "a<sep>b", "depends_on": []}, {"details": "c", "depends_on": []}]);
    assert_eq!(created(&at_once, &Value::Null).unwrap(), ["a < ", "b < ", "c < "]);
    // What both say counts.
    let both = json!(["a", "b", {"details": "c", "depends_on": ["a"]}]);
    assert_eq!(created(&both, &json!([[], [], [2]])).unwrap(), ["a < ", "b < ", "c < 1,2"]);
}

#[test]
fn a_number_of_the_steps_own_is_no_place_in_the_list() {
    for own in ["2.0 版本功能梳理", "3.5% growth, explained", "10:30 会议纪要"] {
        assert_eq!(created(&json!(["a", own]), &Value::Null).unwrap()[1], format!("{own} < 1"));
        let only = json!([{"step": own}]);
        assert_eq!(created(&only, &Value::Null).unwrap(), [format!("{own} < ")]);
    }
    for placed in ["2. 2024 report", "2、2024 report", "执行顺序2.2024 report", "2: 2024 report"]
    {
        let steps = json!(["1. a", placed]);
        assert_eq!(created(&steps, &Value::Null).unwrap()[1], "2024 report < 1", "{placed}");
    }
}

#[test]
fn words_name_a_step_only_where_they_stand_whole_in_its_title() {
    let steps = json!([
        "Call: the largest suppliers",
        "统一口径: 核对数据",
        "Collect sales data",
        "Report: on all of it"
    ]);
    for (on, wanted) in [
        (json!("all"), Some("1,2,3")),
        (json!(["所有"]), Some("1,2,3")),
        (json!("全部"), Some("1,2,3")),
        (json!("一"), Some("1")),
        (json!(["步骤一", "第二步", "三"]), Some("1,2,3")),
        (json!("统一口径"), Some("2")),
        (json!("sales data"), Some("3")),
        (json!("Sales"), Some("3")),
        (json!("ales data"), None),
        (json!("call"), Some("1")),
        (json!("cal"), None),
        (json!("统一"), None),
        (json!("口径"), None),
        // These words stand in what is to be done.
        (json!("suppliers"), None),
    ] {
        let on = json!([[], [], [], on]);
        let read = created(&steps, &on);
        match wanted {
            Some(wanted) => {
                assert_eq!(read.unwrap()[3], format!("[Report] on all of it < {wanted}"), "{on}");
            }
            None => assert!(read.unwrap_err().starts_with("step 4 depends on `"), "{on}"),
        }
    }
    // A step may be called so.
    let called = json!(["a", "all", "b"]);
    assert_eq!(created(&called, &json!([[], [], "all"])).unwrap()[2], "b < 2");
    assert_eq!(created(&called, &json!(["all", [], []])).unwrap()[0], "a < 2");
}

/// A reader that compares every reference with every step does not get to the end of these.
#[test]
fn a_plan_beyond_all_bounds_is_refused_before_its_references_are_read() {
    let many: Vec<String> = (0..100_000).map(|nth| format!("Step of {nth}: look")).collect();
    let after: Vec<[String; 1]> = many.iter().map(|step| [step.to_lowercase()]).collect();
    let refused = created(&json!(many), &json!(after)).unwrap_err();
    assert_eq!(refused, "a plan has at most 1000 steps");

    let steps = &many[..1_000];
    let to_all: Vec<&[String]> = steps.iter().map(|_| steps).collect();
    let refused = created(&json!(steps), &json!(to_all)).unwrap_err();
    assert_eq!(refused, "`depends_on` is missing or cannot be read");
    let in_a_text = vec!["1,".repeat(50_000); 1_000];
    let refused = created(&json!(steps), &json!(in_a_text)).unwrap_err();
    assert_eq!(refused, "`depends_on` is missing or cannot be read");

    // Within them all is found.
    let one_of_many: Vec<Vec<&str>> =
        (0..1_000).map(|nth| (0..nth.min(1)).map(|_| many[nth - 1].as_str()).collect()).collect();
    let read = created(&json!(steps), &json!(one_of_many)).unwrap();
    assert_eq!(read[999], "[Step of 999] look < 999");
    let none = vec![["words that no title holds"]; 1_000];
    assert!(created(&json!(steps), &json!(none)).is_err());
}

#[test]
fn an_unreadable_part_of_a_plan_is_named() {
    let steps = || json!(["Search: gold", "Search: silver", "Report: both"]);
    let no_step = |on: &str| {
        format!("step 3 depends on `{on}`, which is no step's number and no one step's title")
    };
    for (steps, on, says) in [
        (
            json!([1]),
            Value::Null,
            "step 1 cannot be read: it is a text, or an object with `details`".to_owned(),
        ),
        (
            json!(["a", {"status": "todo"}]),
            Value::Null,
            "step 2 cannot be read: it is a text, or an object with `details`".to_owned(),
        ),
        (
            json!(["a", "  "]),
            Value::Null,
            "step 2 cannot be read: it is a text, or an object with `details`".to_owned(),
        ),
        (json!({"1": "a"}), Value::Null, "`steps` is missing or cannot be read".to_owned()),
        (json!("a"), Value::Null, "`steps` is missing or cannot be read".to_owned()),
        (steps(), json!("1"), "`depends_on` is missing or cannot be read".to_owned()),
        (steps(), json!({"tin": [1]}), "`depends_on` is missing or cannot be read".to_owned()),
        (steps(), json!([[], [], ["Search"]]), no_step("Search")),
        (steps(), json!([[], [], ["copper"]]), no_step("copper")),
        (steps(), json!([[], [], [1.5]]), no_step("1.5")),
        (steps(), json!([[], [], [-1]]), no_step("-1")),
        (steps(), json!([[], [], [true]]), no_step("true")),
        (steps(), json!([[], [], ["1, tin"]]), no_step("1, tin")),
        (steps(), json!([[], [], ["s4"]]), "step 3 depends on step 4, but there are 3".to_owned()),
    ] {
        assert_eq!(created(&steps, &on).unwrap_err(), says, "{steps} {on}");
    }
}

#[test]
fn a_step_is_marked_in_the_words_of_models() {
    let marked = |step: Value, status: &str| {
        let arguments = json!({"command": "Mark-Step", "step_index": step, "step_status": status});
        PlanCommand::parse(arguments.as_object().unwrap())
    };
    for (step, word, status) in [
        (json!(3), "completed", StepStatus::Completed),
        (json!("3"), "Done", StepStatus::Completed),
        (json!("s3"), "in-progress", StepStatus::NotStarted),
        (json!("s3.2"), "not started", StepStatus::NotStarted),
        (json!("Step 3"), "blocked", StepStatus::Blocked),
        (json!(3.0), "Skipped", StepStatus::Skipped),
    ] {
        let note = String::new();
        let wanted = PlanCommand::Mark { step: StepId(3), status, note };
        assert_eq!(marked(step, word), Ok(wanted));
    }
    let bad = |argument: &str| Err(PlanError::BadCommand { argument: argument.to_owned() });
    assert_eq!(marked(json!("the third"), "done"), bad("step_index"));
    assert_eq!(marked(json!(3), "perhaps"), bad("step_status"));
}

#[test]
fn steps_that_have_not_begun_when_the_planner_finishes_are_skipped() {
    let mut plan = plan(&[draft("a", &[]), draft("b", &[]), draft("c", &[2]), draft("d", &[])]);
    plan.set_status(StepId(1), StepStatus::Completed, "").unwrap();
    plan.set_status(StepId(2), StepStatus::Blocked, "no data").unwrap();
    plan.set_status(StepId(4), StepStatus::Skipped, "").unwrap();
    assert!(!plan.is_complete() && plan.is_idle());
    plan.finish_steps();
    let status: Vec<_> = plan.steps().iter().map(|step| step.status.as_str()).collect();
    assert_eq!(status, ["completed", "blocked", "skipped", "skipped"]);
    let list = plan.to_markdown();
    assert!(list.contains("- [ ] s3 c (skipped)\n") && list.contains("- [x] s1 a\n"), "{list}");
}

#[test]
fn a_step_that_waits_for_one_that_is_not_needed_can_begin() {
    let mut plan = plan(&[draft("a", &[]), draft("b", &[1])]);
    plan.set_status(StepId(1), StepStatus::Skipped, "").unwrap();
    assert_eq!(ready(&plan), [2]);
    plan.set_status(StepId(2), StepStatus::Completed, "").unwrap();
    assert!(plan.is_complete());
}

#[test]
fn equal_numbers_run_at_once_and_the_next_waits_for_all_of_them() {
    assert_eq!(
        read(
            &[
                "执行顺序1. 查找：金价",
                "执行顺序1. 查找：银价",
                "执行顺序2. 报告：比较",
                "执行顺序4. 报告：发布"
            ],
            None
        ),
        ["[查找] 金价 < ", "[查找] 银价 < ", "[报告] 比较 < 1,2", "[报告] 发布 < 3"]
    );
}

#[test]
fn lines_without_numbers_run_one_after_the_other() {
    assert_eq!(read(&["a", "b", "c"], None), ["a < ", "b < 1", "c < 2"]);
}

#[test]
fn explicit_dependencies_count_instead_of_numbers() {
    let on: &[&[usize]] = &[&[], &[], &[1, 2]];
    assert_eq!(read(&["1. a", "2. b", "3. c"], Some(on)), ["a < ", "b < ", "c < 1,2"]);
    assert_eq!(read(&["a", "b"], Some(&[])), ["a < ", "b < "]);
}

#[test]
fn a_separator_splits_a_step_into_parts_that_run_at_once() {
    assert_eq!(
        read(&["start", "compare: north<sep>south <sep> ", "end"], None),
        ["start < ", "[compare] north < 1", "[compare] south < 1", "end < 2,3"]
    );
}

#[test]
fn a_stage_ends_at_the_first_colon_and_is_no_url_and_no_time() {
    assert_eq!(
        read(&["Look: see http://x.org: all", "at 10:30 look", "see http://x.org"], Some(&[])),
        ["[Look] see http://x.org: all < ", "at 10:30 look < ", "see http://x.org < "]
    );
}

fn draft(details: &str, depends_on: &[usize]) -> StepDraft {
    let depends_on = depends_on.iter().copied().collect();
    StepDraft { details: details.to_owned(), depends_on, ..StepDraft::default() }
}

/// As if each had been written in a line of its own.
fn in_lines(mut drafts: Vec<StepDraft>) -> Vec<StepDraft> {
    for (line, draft) in (1..).zip(&mut drafts) {
        draft.line = line;
    }
    drafts
}

fn plan(drafts: &[StepDraft]) -> Plan {
    Plan::create("t", drafts, 100).unwrap()
}

fn ready(plan: &Plan) -> Vec<u32> {
    plan.ready_steps().map(|step| step.id.0).collect()
}

#[test]
fn steps_become_ready_as_those_they_wait_for_complete() {
    let mut plan = plan(&[draft("a", &[]), draft("b", &[]), draft("c", &[1, 2]), draft("d", &[3])]);
    assert_eq!(ready(&plan), [1, 2]);
    plan.set_status(StepId(1), StepStatus::Completed, "").unwrap();
    plan.set_status(StepId(2), StepStatus::InProgress, "").unwrap();
    assert_eq!(ready(&plan), [0u32; 0]);
    assert!(!plan.is_idle());
    plan.set_status(StepId(2), StepStatus::Blocked, "no data").unwrap();
    assert!(plan.is_idle() && !plan.is_complete());
}

#[test]
fn an_update_keeps_what_is_known_of_steps_whose_words_stay() {
    let mut before = plan(&[draft("a", &[]), draft("b", &[1]), draft("c", &[2])]);
    before.set_status(StepId(1), StepStatus::Completed, "done well").unwrap();
    before.set_status(StepId(2), StepStatus::InProgress, "").unwrap();
    let after =
        before.with_steps("", &[draft("new", &[]), draft("a", &[]), draft("d", &[1, 2])], 100);
    let after = after.unwrap();
    let shown: Vec<_> = after
        .steps()
        .iter()
        .map(|step| (step.id.0, step.details.as_str(), step.status, step.note.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            (4, "new", StepStatus::NotStarted, ""),
            (1, "a", StepStatus::Completed, "done well"),
            (5, "d", StepStatus::NotStarted, ""),
            // It is being worked on, so it stays, though the list has dropped it.
            (2, "b", StepStatus::InProgress, ""),
        ]
    );
    assert_eq!(after.title, "t");
    assert_eq!(after.step(StepId(5)).unwrap().depends_on, [StepId(1), StepId(4)].into());
}

#[test]
fn an_impossible_plan_is_refused_by_name() {
    let refused =
        |drafts: Vec<StepDraft>| Plan::create("t", &in_lines(drafts), 3).unwrap_err().to_string();
    let long = "x".repeat(2049);
    for (drafts, says) in [
        (vec![], "a plan has at least one step"),
        (vec![draft("a", &[]); 4], "a plan has at most 3 steps"),
        (vec![draft("a", &[]), draft(&long, &[])], "step 2 is longer than 2048 bytes"),
        (vec![draft("a", &[2])], "step 1 depends on step 2, but there are 1"),
        (vec![draft("a", &[0])], "step 1 depends on step 0, but there are 1"),
        (vec![draft("a", &[1])], "steps 1 wait for each other"),
        (
            vec![draft("a", &[2]), draft("b", &[1]), draft("c", &[1])],
            "steps 1, 2 wait for each other",
        ),
    ] {
        assert_eq!(refused(drafts), says);
    }
    let mut plan = plan(&[draft("a", &[]), draft("b", &[])]);
    let error = plan.set_status(StepId(7), StepStatus::Completed, "").unwrap_err();
    assert_eq!(error.to_string(), "there is no step s7; there are s1, s2");
    assert!(matches!(error, PlanError::UnknownStep { .. }));
}

#[test]
fn a_refusal_names_the_lines_that_the_planner_wrote() {
    let refused = |list: &[&str], on: &[&[usize]]| {
        let on: Vec<BTreeSet<usize>> = on.iter().map(|on| on.iter().copied().collect()).collect();
        let read = parse_drafts(&lines(list), Some(&on));
        let made = read.and_then(|drafts| Plan::create("t", &drafts, 9));
        made.unwrap_err().to_string()
    };
    let unknown = "step 2 depends on step 3, but there are 2";
    assert_eq!(refused(&["a", "b"], &[&[], &[3]]), unknown);
    assert_eq!(refused(&["a<sep>b", "c"], &[&[], &[3]]), unknown);
    assert_eq!(refused(&["a", "b"], &[&[], &[0]]), "step 2 depends on step 0, but there are 2");
    let cycle = refused(&["a<sep>b", "c<sep>d", "e"], &[&[], &[3], &[2]]);
    assert_eq!(cycle, "steps 2, 3 wait for each other");
    let long = format!("b<sep>{}", "x".repeat(2049));
    assert_eq!(refused(&["a<sep>c", &long], &[]), "step 2 is longer than 2048 bytes");
}

fn any_drafts() -> impl Strategy<Value = Vec<StepDraft>> {
    prop::collection::vec(("[a-c]", prop::collection::btree_set(1usize..7, 0..3)), 1..7).prop_map(
        |steps| {
            steps
                .into_iter()
                .map(|(details, depends_on)| StepDraft {
                    details,
                    depends_on,
                    ..StepDraft::default()
                })
                .collect()
        },
    )
}

proptest! {
    /// Whatever the planner writes, a plan that is taken can be worked off to its end: completing
    /// what is ready, again and again, completes every step once.
    #[test]
    fn every_plan_comes_to_an_end(first in any_drafts(), second in any_drafts()) {
        let Ok(plan) = Plan::create("t", &first, 10) else { return Ok(()) };
        let mut plan = plan.with_steps("t", &second, 10).unwrap_or(plan);
        let mut done = BTreeSet::new();
        loop {
            let Some(id) = plan.ready_steps().map(|step| step.id).next() else { break };
            prop_assert!(done.insert(id));
            plan.set_status(id, StepStatus::Completed, "").unwrap();
        }
        prop_assert!(plan.is_complete() && plan.is_idle());
        let ids: BTreeSet<_> = plan.steps().iter().map(|step| step.id).collect();
        prop_assert_eq!(ids.len(), plan.steps().len());
    }
}

#[test]
fn titles_and_notes_of_models_are_cut_at_their_bounds() {
    let long = "界".repeat(9_000);
    let arguments = json!({"command": "create", "title": long, "steps": ["gold"]});
    let Value::Object(arguments) = arguments else { panic!("no object") };
    let command = PlanCommand::parse(&arguments).unwrap();
    assert_eq!(command.title(), long);
    let mut plan = command.apply_to(None, 9).unwrap();
    assert_eq!(plan.title, "界".repeat(MAX_TITLE / 3));
    plan.set_status(StepId(1), StepStatus::Completed, &long).unwrap();
    assert_eq!(plan.steps()[0].note, "界".repeat(MAX_STEP / 3));
    let edited =
        plan.with_edits(&long, &[StepEdit { details: "tin".into(), ..StepEdit::default() }], 9);
    assert!(edited.unwrap().title.len() <= MAX_TITLE);
    assert_eq!(
        plan.with_steps("", &parse_drafts(&lines(&["tin"]), None).unwrap(), 9).unwrap().title,
        plan.title
    );
}
