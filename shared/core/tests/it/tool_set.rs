//! Sets of tools: which record of a journal holds one, and that nothing else depends on it.

use std::collections::BTreeMap;

use djinn_core::effect::Effect;
use djinn_core::entry::{Entry, Event};
use djinn_core::estimate::Estimate;
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};
use djinn_core::run::Run;
use djinn_core::tool::{OfferedTool, ToolFailure, ToolResult, ToolSetRef};
use serde_json::json;

use crate::story::{self, human_requests};

/// What calls of tools may cost in a turn.
type Estimates<'a> = &'a [(&'a str, Estimate)];

/// The input with this offer instead of the story's.
fn offering(input: Input, tools: &[OfferedTool], estimates: Estimates<'_>) -> Input {
    let Input::ModelReplied(mut replied) = input else { return input };
    let estimates = estimates.iter().map(|(name, estimate)| ((*name).to_owned(), *estimate));
    replied.tool_set = ToolSetRef::of(tools, estimates.collect());
    replied.offered = tools.to_vec();
    Input::ModelReplied(replied)
}

fn tools(names: &str) -> Vec<OfferedTool> {
    let is_offered = |tool: &OfferedTool| names.split(' ').any(|name| name == tool.name);
    story::offered().into_iter().filter(is_offered).collect()
}

fn names_in(record: &Record) -> Vec<String> {
    let replies = record.inputs.iter().filter_map(|input| match input {
        Input::ModelReplied(replied) => Some(&replied.offered),
        _ => None,
    });
    replies.flatten().map(|tool| tool.name.clone()).collect()
}

fn decide(journal: &Journal, input: &Input) -> (Journal, Record) {
    let n = journal.next_number();
    journal.decide_record(vec![input.clone()], 1, story::write(n), 2_000).unwrap()
}

/// A turn that reads once.
fn turn(nth: usize, tools: &[OfferedTool], estimates: Estimates<'_>) -> [Input; 2] {
    let reply = story::replied(&format!("t{nth}"), "", &[("read", json!({"of": nth}))]);
    [offering(reply, tools, estimates), story::returned(&format!("t{nth}.c1"), "it is autumn")]
}

#[test]
fn a_set_stands_in_the_first_record_that_offers_it() {
    let dear = [("read", Estimate { tokens: 9, ..Estimate::default() })];
    // What a turn offers, what differs in it, and the tools that its record holds.
    let turns: [(&str, Estimates<'_>, &[&str]); 6] = [
        ("read send", &[], &["read", "send"]),
        ("read send", &[], &[]),
        ("read send", &dear, &[]),
        ("read file_tool send", &dear, &["read", "file_tool", "send"]),
        ("read send", &[], &[]),
        ("", &[], &[]),
    ];
    let mut asked = story::asked("why?");
    asked.settings.budget.steps = 10;
    let (mut journal, first) = Journal::open(asked, 1, story::write(0), 1_000);
    let mut records = vec![first];
    for (index, (offered, estimates, held)) in turns.into_iter().enumerate() {
        for input in turn(index + 1, &tools(offered), estimates) {
            // A driver that has just come knows what the records say, and no more.
            journal = Journal::fold(&records).unwrap();
            if offered.is_empty() && matches!(input, Input::ToolReturned { .. }) {
                continue;
            }
            let (next, record) = decide(&journal, &input);
            if matches!(input, Input::ModelReplied(_)) {
                assert_eq!(names_in(&record), held, "turn {}", index + 1);
            }
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(line.contains("\"offered\""), !names_in(&record).is_empty(), "{line}");
            let read: Record = serde_json::from_str(&line).unwrap();
            assert_eq!(read, record);
            records.push(read);
            journal = next;
        }
    }
    assert_eq!(Journal::fold(&records).unwrap(), journal);
}

#[test]
fn a_set_is_left_out_only_where_a_record_that_was_written_holds_it() {
    let known = tools("read send");
    let [reply, _] = turn(1, &known, &[]);
    let (mut journal, _) = Journal::open(story::asked("why?"), 1, story::write(0), 1_000);
    // A record that was decided and never written, since its driver died or lost the race.
    let (_, lost) = decide(&journal, &reply);
    let (_, again) = decide(&journal, &reply);
    assert_eq!(names_in(&lost), ["read", "send"]);
    assert_eq!(again, lost);
    // The race is lost to a driver whose model was offered the same.
    journal.apply_record(&lost).unwrap();
    let [_, returned] = turn(1, &known, &[]);
    let (journal, _) = decide(&journal, &returned);
    let [reply, _] = turn(2, &known, &[]);
    assert_eq!(names_in(&decide(&journal, &reply).1), Vec::<String>::new());
    // An input that nobody waits for brings no set, either.
    let (mut run, _) = Run::start(story::asked("why?"), 0);
    let [late, _] = turn(7, &known, &[]);
    assert_eq!(run.apply_input(&late, 0), None);
    let Input::ModelReplied(late) = late else { unreachable!("a reply") };
    assert!(!run.has_tool_set(&late.tool_set.unwrap().hash));
}

#[test]
fn a_run_is_the_same_whether_its_records_hold_sets_or_name_them() {
    let named = |input| offering(input, &story::offered(), &[]);
    let (whole, _) = story::journal("which?", story::growth());
    let (short, records) =
        story::journal("which?", story::growth().into_iter().map(named).collect());
    let held: Vec<usize> = records.iter().map(|record| names_in(record).len()).collect();
    assert_eq!(held.iter().sum::<usize>(), 4, "{held:?}");
    assert_eq!(whole.run().conversation(), short.run().conversation());
    let (whole, short) = (whole.run(), short.run());
    assert_eq!((whole.due(), whole.status()), (short.due(), short.status()));
}

#[test]
fn what_a_turn_estimates_decides_whether_people_are_asked() {
    let dear = Estimate { tokens: 12_000, calls: 1, ..Estimate::default() };
    let estimate = |estimates| {
        let (mut run, _) = Run::start(human_requests::asked_with_approval("why?"), 0);
        let known = tools("read send");
        let [reply, result] = turn(1, &known, &[]);
        run.apply_input(&reply, 0).unwrap();
        run.apply_input(&result, 0).unwrap();
        let [Input::ModelReplied(mut reply), _] = turn(2, &known, estimates) else {
            unreachable!("a reply")
        };
        reply.offered.clear();
        let entries = run.apply_input(&Input::ModelReplied(reply), 0).unwrap();
        entries.iter().find_map(|Entry { event, .. }| match event {
            Event::HumanRequested { estimate, .. } => Some(*estimate),
            _ => None,
        })
    };
    assert_eq!(estimate(&[]), None);
    assert_eq!(estimate(&[("read", dear)]), Some(dear));
}

#[test]
fn a_set_that_no_record_holds_offers_nothing() {
    let (mut run, _) = Run::start(story::asked("why?"), 0);
    let [Input::ModelReplied(mut reply), _] = turn(1, &tools("read"), &[]) else {
        unreachable!("a reply")
    };
    reply.offered.clear();
    let entries = run.apply_input(&Input::ModelReplied(reply), 0).unwrap();
    let Event::CallCompleted { result, .. } = &entries.last().unwrap().event else {
        panic!("{entries:?}")
    };
    let reason = ToolFailure::UnknownTool;
    assert_eq!(*result, ToolResult::Failed { reason, detail: String::new() });
}

#[test]
fn a_call_is_owed_with_the_schema_that_it_was_offered_with() {
    let mut known = tools("read send");
    known[0].schema_hash = "of that turn".to_owned();
    let [reply, _] = turn(1, &known, &[]);
    let (mut run, _) = Run::start(story::asked("why?"), 0);
    run.apply_input(&reply, 0).unwrap();
    let hashes: BTreeMap<String, String> = run
        .due()
        .into_iter()
        .filter_map(|effect| match effect {
            Effect::RunTool(owed) => Some((owed.call.tool, owed.schema_hash)),
            _ => None,
        })
        .collect();
    assert_eq!(hashes, BTreeMap::from([("read".to_owned(), "of that turn".to_owned())]));
}
