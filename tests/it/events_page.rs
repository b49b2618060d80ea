//! `docs/events.md`: every example is an event, and every event has one.

use std::collections::BTreeSet;

use djinn_core::id::EntryId;
use serde_json::Value;

const PAGE: &str = include_str!("../../docs/events.md");
const SCHEMA: &str = include_str!("../../docs/events.schema.json");

fn examples() -> Vec<Value> {
    let blocks = PAGE.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.map(|text| serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))).collect()
}

/// Every `type` that the schema knows.
fn known_types(schema: &Value, known: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            let name = members.get("type").and_then(|name| name.get("const"));
            known.extend(name.and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| known_types(member, known));
        }
        Value::Array(items) => items.iter().for_each(|item| known_types(item, known)),
        _ => {}
    }
}

#[test]
fn every_example_is_an_event_and_every_event_has_one() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut shown = BTreeSet::new();
    for example in examples() {
        let problems: Vec<_> = validator.iter_errors(&example).map(|e| e.to_string()).collect();
        assert!(problems.is_empty(), "{example}: {problems:?}");
        if let Some(id) = example["id"].as_str() {
            assert!(id.parse::<EntryId>().is_ok(), "{id} is no id of an event");
        }
        shown.extend(example["type"].as_str().map(str::to_owned));
    }
    let mut known = BTreeSet::new();
    known_types(&schema, &mut known);
    // The schema has one word more: the kind of an event that hands over.
    let missing: Vec<_> = known.difference(&shown).collect();
    assert!(known.len() >= 18 && missing.is_empty(), "without an example: {missing:?}");
}

#[test]
fn a_piece_of_another_shape_is_no_event() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    assert!(!validator.is_valid(&serde_json::json!({"message": "t1", "offset": "5"})));
    assert!(!validator.is_valid(&serde_json::json!({"id": "x", "at_ms": 1, "type": "run.begun"})));
}
