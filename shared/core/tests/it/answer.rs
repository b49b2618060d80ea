//! What a run's answer is, and which files it hands over.

use djinn_core::effect::Effect;
use djinn_core::entry::{Event, RunResult};
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::{Input, Reply};
use djinn_core::journal::Record;
use djinn_core::settings::SummaryPolicy;
use djinn_core::status::RunStatus;
use serde_json::json;

use crate::story;

fn ending(records: &[Record]) -> &RunResult {
    records.last().unwrap().entries.last().unwrap().event.run_result().unwrap()
}

/// The messages of a run, each with whether it is the answer.
fn messages(records: &[Record]) -> Vec<(String, bool)> {
    let entries = records.iter().flat_map(|record| &record.entries);
    let message = |event: &Event| match event {
        Event::MessageCompleted { message, answer, .. } => Some((message.to_string(), *answer)),
        _ => None,
    };
    entries.filter_map(|entry| message(&entry.event)).collect()
}

fn writes(message: &str, name: &str) -> [Input; 2] {
    let upload = json!({"command": "upload", "filename": name});
    let call = story::replied(message, "I write.", &[("file_tool", upload)]);
    [call, story::wrote(&format!("{message}.c1"), name)]
}

fn thinks_only(message: &str) -> Input {
    story::thought(message, "It may be 4.", " \n")
}

#[test]
fn the_last_reply_is_the_answer_and_hands_over_the_files_it_names() {
    for (text, files) in [
        ("It is in growth.md.", vec!["growth.md"]),
        ("All of it is there.", vec!["data.csv", "growth.md", "a.md"]),
        ("See a.md and `data.csv`; sales.csv was read.", vec!["data.csv", "a.md"]),
    ] {
        let mut inputs: Vec<Input> = Vec::new();
        inputs.extend(writes("t1", "a.md"));
        inputs.extend(writes("t2", "growth.md"));
        inputs.extend(writes("t3", "data.csv"));
        inputs.push(story::replied("t4", text, &[]));
        let (journal, records) = story::journal("why?", inputs);
        let ending = ending(&records);
        assert_eq!((ending.status, ending.answer.as_str()), (RunStatus::Finished, text));
        let names: Vec<_> = ending.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, files);
        assert_eq!((ending.spent.model_calls, ending.spent.steps), (4, 4));
        assert_eq!(messages(&records).last().unwrap(), &("t4".to_owned(), true));
        assert!(messages(&records)[..3].iter().all(|(_, answer)| !answer));
        assert!(journal.run().status().has_ended());
    }
}

#[test]
fn a_summary_hands_over_the_files_it_lists_and_no_others_and_loses_no_word() {
    for (summary, text, files) in [
        ("North grew.$$$年度报告.md", "North grew.", vec!["年度报告.md"]),
        ("North grew.$$$报告.md、11.md", "North grew.", vec!["报告.md", "11.md"]),
        ("North grew.$$$ 1.md , `报告.md`", "North grew.", vec!["1.md", "报告.md"]),
        ("North grew.$$$Files: 11.md", "North grew.", vec!["11.md"]),
        ("Nobu ($$$) is best.$$$1.md", "Nobu ($$$) is best.", vec!["1.md"]),
        (
            "Nobu ($$$) is best, 11.md says so.",
            "Nobu ($$$) is best, 11.md says so.",
            vec!["11.md", "1.md", "年度报告.md", "报告.md"],
        ),
    ] {
        let mut asked = story::asked("why?");
        asked.settings.summary_policy = Some(SummaryPolicy::Always);
        let mut inputs: Vec<Input> = Vec::new();
        for (turn, name) in (1..).zip(["报告.md", "年度报告.md", "1.md", "11.md"]) {
            inputs.extend(writes(&format!("t{turn}"), name));
        }
        inputs.push(story::replied("t5", "I am done.", &[]));
        inputs.push(story::replied("summary", summary, &[]));
        let (_, records) = story::journal_of(asked, inputs);
        let ended = ending(&records);
        let names: Vec<_> = ended.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!((ended.answer.as_str(), names), (text, files), "{summary}");
    }
}

#[test]
fn a_deployment_may_have_all_work_summed_up() {
    let mut asked = story::asked("why?");
    asked.settings.summary_policy = Some(SummaryPolicy::Always);
    let mut inputs = writes("t1", "growth.md").to_vec();
    inputs.extend(writes("t2", "rest.md"));
    inputs.push(story::replied("t3", "It is in rest.md.", &[]));
    let (journal, mut records) = story::journal_of(asked.clone(), inputs);
    let owed = journal.run().due();
    assert!(matches!(&owed[0], Effect::CallModel(call) if call.message.is_summary()));
    let summary = story::replied("summary", "North grew.$$$growth.md", &[]);
    let (_, record) = journal.decide_record(vec![summary], 1, story::write(9), 9_000).unwrap();
    records.push(record);
    let ended = ending(&records);
    assert_eq!((ended.answer.as_str(), ended.files.len()), ("North grew.", 1));
    assert_eq!(messages(&records)[2..], [("t3".to_owned(), false), ("summary".to_owned(), true)]);
    // A first reply is the answer itself, as before.
    let (_, records) = story::journal_of(asked, vec![story::replied("t1", "It is 4.", &[])]);
    assert_eq!(ending(&records).answer, "It is 4.");
}

#[test]
fn where_nothing_is_said_the_run_fails_and_keeps_its_files() {
    let empty = |message: &str| story::replied(message, "", &[]);
    for silent in [empty, thinks_only] {
        let mut inputs = writes("t1", "growth.md").to_vec();
        inputs.extend([silent("t2"), silent("t3"), silent("summary")]);
        let (_, records) = story::journal("why?", inputs);
        let ending = ending(&records);
        assert_eq!(ending.status, RunStatus::Failed);
        assert_eq!(ending.failure, Some(ErrorCode::EmptyAnswer.into()));
        // What it said on the way is not taken for the answer.
        assert_eq!(ending.answer, "I write.");
        assert_eq!(ending.files[0].name.as_str(), "growth.md");
        assert_eq!(ending.spent.model_calls, 4);
        assert!(messages(&records).iter().all(|(_, answer)| !answer));
    }
}

#[test]
fn a_reply_that_its_filter_left_nothing_of_is_summed_up_at_once() {
    let reply = Reply { finish: djinn_core::input::FinishReason::Filtered, ..Reply::default() };
    let (journal, _) = story::journal("why?", vec![story::reply("t1", reply)]);
    let owed = journal.run().due();
    assert!(matches!(&owed[0], Effect::CallModel(call) if call.message.is_summary()));
}

#[test]
fn a_model_that_fails_after_silence_fails_the_run() {
    let mut inputs = writes("t1", "growth.md").to_vec();
    inputs.extend([thinks_only("t2"), thinks_only("t3"), story::model_failed("summary")]);
    let (_, records) = story::journal("why?", inputs);
    let failure = Some(Failure::new(ErrorCode::ModelKeyRefused, "401"));
    assert_eq!((ending(&records).status, &ending(&records).failure), (RunStatus::Failed, &failure));
}

#[test]
fn a_task_that_says_nothing_fails_and_is_tried_once_more() {
    let mut inputs = writes("t1", "growth.md").to_vec();
    inputs.extend([thinks_only("t2"), thinks_only("t3")]);
    let mut asked = story::asked_as_a_task("why?");
    asked.settings.plan.employees = false;
    let (task, _) = story::journal_of(asked, inputs);
    let outcome = task.run().child_result().unwrap().clone();
    assert_eq!(outcome.status, RunStatus::Failed);
    assert_eq!(outcome.report.failure, Some(ErrorCode::EmptyAnswer.into()));
    assert_eq!(outcome.files[0].name.as_str(), "growth.md");

    let create = json!({"command": "create", "title": "t", "steps": ["a"], "depends_on": [[]]});
    let planned = vec![story::planned("t1", &create), Input::ChildEnded(Box::new(outcome))];
    let (run, _) = story::journal_of(story::asked_to_plan("why?"), planned);
    let tasks: Vec<_> = run.run().running_children().iter().map(ToString::to_string).collect();
    assert_eq!(tasks, ["s1.2"]);
}

#[test]
fn a_planner_that_says_nothing_leaves_it_to_the_summary() {
    for (summary, status) in [("It is 4.", RunStatus::Finished), ("", RunStatus::Failed)] {
        let inputs =
            vec![thinks_only("t1"), thinks_only("t2"), story::replied("summary", summary, &[])];
        let (_, records) = story::journal_of(story::asked_to_plan("why?"), inputs);
        assert_eq!((ending(&records).status, ending(&records).answer.as_str()), (status, summary));
        assert_eq!(ending(&records).spent.model_calls, 3);
    }
}

#[test]
fn a_task_hands_back_all_of_an_answer_that_was_cut() {
    let end = |text| story::replied("t2", text, &[]);
    for (inputs, text, is_cut) in [
        (vec![story::cut_off("t1", "North "), end("grew.")], "North grew.", false),
        (vec![story::cut_off("t1", "North grew"), end(" \n")], "North grew", true),
        (vec![story::cut_off("t1", " "), end("North.")], "North.", false),
        (
            ["t1", "t2", "t3", "t4"].map(|t| story::cut_off(t, &format!("{t} "))).to_vec(),
            "t1 t2 t3 t4 ",
            true,
        ),
        (vec![story::replied("t1", "North.", &[])], "North.", false),
    ] {
        let (journal, _) = story::journal_of(story::asked_as_a_task("why?"), inputs);
        let ended = journal.run().child_result().unwrap();
        assert_eq!((ended.status, ended.report.text.as_str()), (RunStatus::Finished, text));
        assert_eq!(ended.report.truncated, is_cut, "{text}");
    }
    let blank = vec![story::cut_off("t1", " "), end("")];
    let (journal, _) = story::journal_of(story::asked_as_a_task("why?"), blank);
    let failure = journal.run().child_result().unwrap().report.failure.clone();
    assert_eq!(failure.unwrap().code, ErrorCode::EmptyAnswer);
}

#[test]
fn an_agent_that_repeats_itself_reads_a_correction_before_it_is_stopped() {
    for mut asked in [story::asked("why?"), story::asked_to_plan("why?")] {
        asked.settings.budget.steps = 40;
        let dances =
            |turn: u32| story::replied(&format!("t{turn}"), "So.", &[("dance", json!({}))]);
        let mut inputs: Vec<Input> = (1..=3).map(dances).collect();
        let sums_up = |inputs: &[Input]| {
            let (journal, _) = story::journal_of(asked.clone(), inputs.to_vec());
            let due = journal.run().due();
            let Effect::CallModel(call) = &due[0] else { panic!("{due:?}") };
            call.message.is_summary()
        };
        let unheeded = [inputs.clone(), vec![dances(4)]].concat();
        assert!(sums_up(&unheeded));
        inputs.extend([crate::story::human_requests::said("m1", "Do not dance."), dances(4)]);
        assert!(!sums_up(&inputs), "it has not read that yet");
        inputs.push(dances(5));
        assert!(!sums_up(&inputs), "it is told anew");
        inputs.push(dances(6));
        assert!(sums_up(&inputs));
    }
}
