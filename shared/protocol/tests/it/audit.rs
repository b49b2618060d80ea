//! The lines that say what people were asked and decided.

use djinn_core::entry::Event;
use djinn_core::human::HumanResponse;
use djinn_core::id::sha256_hex;
use djinn_core::input::Input;
use djinn_core::journal::Record;
use djinn_core::tool::canonical_json;
use djinn_protocol::audit::{AuditLine, AuditLog};
use serde_json::json;

use crate::story;
use crate::story::human_requests::{answered, asked_with_approval, with_declared};

fn audited(records: &[Record]) -> Vec<AuditLine> {
    let mut audit = AuditLog::default();
    records.iter().for_each(|record| audit.add_record(&story::run_id(), record));
    audit.into_lines()
}

#[test]
fn an_audit_vouches_for_what_was_decided() {
    let told = vec![
        with_declared(story::replied("t1", "I write.", &[("file_tool", json!({"of": 1}))])),
        Input::HumanResponded(Box::new(answered("t1.c1", HumanResponse::Skip))),
        story::stop(),
    ];
    let (_, records) = story::journal_of(asked_with_approval("why?"), told);
    let lines = audited(&records);
    let what: Vec<_> = lines.iter().map(|line| line.what).collect();
    let expected = ["started", "human.requested", "human.resolved", "stop.requested", "run.ended"];
    assert_eq!(what, expected);
    assert_eq!(lines[2].detail["by"], "you");
    assert_eq!(lines[2].detail["answer"], "skip");
    let mut previous = "0".repeat(64);
    for line in &lines {
        assert_eq!(line.previous, previous);
        let mut text = json!(line);
        text.as_object_mut().unwrap().remove("hash");
        assert_eq!(sha256_hex(canonical_json(&text).as_bytes()), line.hash);
        previous.clone_from(&line.hash);
    }
    let mut changed = records;
    let Input::HumanResponded(_) = &changed[2].inputs[0] else { panic!("{changed:?}") };
    let Event::HumanResolved(answered) = &mut changed[2].entries[0].event else {
        panic!("{changed:?}")
    };
    answered.answer = HumanResponse::Confirm;
    let other = audited(&changed);
    assert!(lines[1].hash == other[1].hash && lines[4].hash != other[4].hash);
}
