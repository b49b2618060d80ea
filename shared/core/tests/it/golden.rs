//! Journals of released versions: every later version must fold them to the same entries and the
//! same effects. A file is never changed; a new format adds a new one.

use djinn_core::journal::{Journal, Record};

const V1_REACT: &str = include_str!("golden/v1-react.jsonl");

#[test]
fn a_journal_of_format_1_still_folds_to_its_entries_and_effects() {
    let records: Vec<Record> =
        V1_REACT.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(records.iter().all(|record| record.v == 1));
    let mut journal = Journal::fold(&records[..1]).unwrap();
    let mut owed = Vec::new();
    for record in &records[1..] {
        let decided =
            journal.decide(record.inputs.clone(), record.epoch, record.write.clone(), record.at_ms);
        let (next, again) = decided.unwrap();
        assert_eq!(again, *record);
        journal = next;
        let due: Vec<_> = journal.run().due().iter().map(|e| e.id().to_string()).collect();
        owed.push(format!("{} {}", record.n, due.join(" ")));
    }
    assert_eq!(Journal::fold(&records).unwrap(), journal);
    insta::assert_snapshot!(owed.join("\n"));
}

#[test]
fn a_record_of_a_newer_format_is_left_alone() {
    let line = V1_REACT.lines().next().unwrap().replacen("\"v\":1", "\"v\":2", 1);
    let record: Record = serde_json::from_str(&line).unwrap();
    let error = Journal::fold(&[record]).unwrap_err();
    assert_eq!(error.to_string(), "record format 2 is newer than 1");
}
