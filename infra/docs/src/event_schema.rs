//! `events.schema.json`: the `data:` of each event in Djinn's own protocol.

use anyhow::Result;
use djinn_protocol::event::{PublicCallProgress, PublicEntry, PublicPreview};
use djinn_protocol::native::HandedOver;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

pub(crate) fn write_event_schema() -> Result<String> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let kinds: Vec<Value> = [
        generator.subschema_for::<PublicEntry<'static>>(),
        generator.subschema_for::<PublicPreview<'static>>(),
        generator.subschema_for::<PublicCallProgress<'static>>(),
        generator.subschema_for::<HandedOver>(),
    ]
    .into_iter()
    .map(Value::from)
    .collect();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Events of a run",
        "description": "The `data:` of an event of Djinn's own protocol: an event of the run's \
                        history, a piece of a message (`event: preview`), a piece of a running \
                        tool's output (`event: progress`), or the notice that the response ends \
                        before the run (`event: run.handed_over`).",
        "anyOf": kinds,
        "$defs": generator.take_definitions(true),
    });
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}
