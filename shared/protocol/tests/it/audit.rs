//! The lines of an audit: public values, each with the hash of its stored record.

use djinn_core::human::{HumanResponse, ResponseChannel, ResponseRecord};
use djinn_core::id::UserId;
use djinn_core::input::{Input, PlanEdit, UserMessage};
use djinn_core::journal::{Record, RecordText};
use djinn_core::plan::StepEdit;
use djinn_protocol::audit::AuditLog;
use serde_json::{Value, json};

use crate::story;
use crate::story::human_requests::{answered, asked_with_approval, with_declared};

/// Returns records as read from a store.
fn stored(records: Vec<Record>) -> Vec<Record> {
    let mut previous = None;
    let store = |record| {
        let record = Record { previous: previous.take().unwrap_or_default(), ..record };
        let text = RecordText::encode(&record, "acme/run").unwrap();
        previous = Some(text.hash.clone());
        text.decode().unwrap()
    };
    records.into_iter().map(store).collect()
}

fn audit(records: &[Record]) -> String {
    let mut audit = AuditLog::default();
    records.iter().for_each(|record| audit.add_record(&story::run_id(), record));
    audit.into_text()
}

#[test]
fn audit_has_the_decisions_with_the_hashes_of_their_records() {
    let response = ResponseRecord {
        comment: "Not now.".to_owned(),
        via: Some(ResponseChannel::Link),
        ..answered("t1.c1", HumanResponse::Skip)
    };
    let by = UserId::new("you").unwrap();
    let message = UserMessage { id: "m1".into(), by, text: "Only the East.".into() };
    let inputs = vec![
        with_declared(story::replied("t1", "I write.", &[("file_tool", json!({"of": 1}))])),
        Input::UserMessageAdded(Box::new(message)),
        Input::HumanResponded(Box::new(response)),
        story::stop(),
    ];
    let (_, records) = story::journal_of(asked_with_approval("why?"), inputs);
    let records = stored(records);
    let text = audit(&records);
    // New fields of records change the hashes.
    let without_hash = |text: String, record: &Record| {
        text.replace(&record.hash.as_ref().unwrap().to_string(), "[hash]")
    };
    insta::assert_snapshot!(records.iter().fold(text.clone(), without_hash));
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let record = &records[usize::try_from(line["record"].as_u64().unwrap()).unwrap()];
        assert_eq!(line["hash"], json!(record.hash.as_ref().unwrap()));
    }
}

/// An edit of a plan has the fields of the request that made it.
#[test]
fn edited_plan_is_shown_with_the_fields_of_its_request() {
    let step = |id: Option<&str>, agent: Option<&str>| StepEdit {
        id: id.map(|id| id.parse().unwrap()),
        stage: "Write".to_owned(),
        details: "Write it.".to_owned(),
        depends_on: [1].into(),
        agent: agent.map(str::to_owned),
    };
    let edit = PlanEdit {
        id: "e1".to_owned(),
        by: UserId::new("you").unwrap(),
        version: 2,
        title: "Growth".to_owned(),
        steps: vec![step(Some("s1"), None), step(None, Some("writer"))],
    };
    let (_, mut records) = story::journal_of(story::asked("why?"), vec![story::stop()]);
    records.truncate(1);
    records[0].inputs = vec![Input::PlanEdited(Box::new(edit))];
    records[0].entries.clear();
    insta::assert_snapshot!(audit(&records));
}
