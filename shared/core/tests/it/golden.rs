//! Journals of released versions: every later version must fold them to the same entries and the
//! same effects. A file is never changed; a new format adds a new one.

use djinn_core::journal::{Journal, Record};

const V1_REACT: &str = include_str!("golden/v1-react.jsonl");

const V1_PLAN: &str = include_str!("golden/v1-plan.jsonl");
const V1_TASK: &str = include_str!("golden/v1-task.jsonl");
const V1_TOOL_SETS: &str = include_str!("golden/v1-tool-sets.jsonl");

/// What a journal owes after each record; that its entries are those it was written with is checked.
fn owed(journal: &str) -> String {
    let records: Vec<Record> =
        journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(records.iter().all(|record| record.format == 1));
    let mut journal = Journal::fold(&records[..1]).unwrap();
    let mut owed = Vec::new();
    for record in &records[1..] {
        let decided = journal.decide_record(
            record.inputs.clone(),
            record.epoch,
            record.write.clone(),
            record.at_ms,
        );
        let (next, again) = decided.unwrap();
        assert_eq!(again, *record);
        journal = next;
        let due: Vec<_> = journal.run().due().iter().map(|e| e.id().to_string()).collect();
        owed.push(format!("{} {}", record.number, due.join(" ")));
    }
    assert_eq!(Journal::fold(&records).unwrap(), journal);
    owed.join("\n")
}

#[test]
fn a_journal_of_format_1_still_folds_to_its_entries_and_effects() {
    insta::assert_snapshot!(owed(V1_REACT));
}

/// Three tasks side by side, a second look, and a crash in the middle of that.
#[test]
fn a_journal_of_a_plan_of_format_1_still_folds_to_its_entries_and_effects() {
    insta::assert_snapshot!(owed(V1_PLAN));
}

/// A call that must not be repeated, of which nobody knows.
#[test]
fn a_journal_of_a_task_of_format_1_still_folds_to_its_entries_and_effects() {
    insta::assert_snapshot!(owed(V1_TASK));
}

/// Two sets of tools, each whole in the first turn that offers it, and a question about what a call costs.
#[test]
fn a_journal_with_named_tool_sets_still_folds_to_its_entries_and_effects() {
    insta::assert_snapshot!(owed(V1_TOOL_SETS));
}

#[test]
fn a_record_of_a_newer_format_is_left_alone() {
    let line = V1_REACT.lines().next().unwrap().replacen("\"format\":1", "\"format\":2", 1);
    let record: Record = serde_json::from_str(&line).unwrap();
    let error = Journal::fold(&[record]).unwrap_err();
    assert_eq!(error.to_string(), "record format 2 is newer than 1");
}
