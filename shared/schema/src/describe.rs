//! Descriptions: the author's words, and in short the keywords that the shown form lacks.

use serde_json::Value;

use crate::parts::Parts;
use crate::text::{MAX_DESCRIPTION, clean_text};

/// Maximum characters of all notes of one schema.
const MAX_NOTES: usize = 300;

/// Maximum characters of one keyword's value in a note.
const MAX_VALUE: usize = 100;

/// The keywords that are noted in a description, in this order. Providers ignore or reject them as keywords.
const NOTED: [&str; 25] = [
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "contains",
    "prefixItems",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "patternProperties",
    "dependentRequired",
    "not",
    "contentEncoding",
    "contentMediaType",
    "deprecated",
    "readOnly",
    "default",
];

/// The limits that generators write for every integer: the safe range of JavaScript.
const SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// Returns the description for a value: the author's, up to this length, and its notes.
pub(crate) fn describe_parts(parts: &Parts<'_>, notes: &[String], max: usize) -> String {
    let texts = || parts.texts.iter();
    let description = texts().filter_map(|map| map.get("description")?.as_str());
    // Generators derive most titles from the name; a title of several words was written.
    let title = texts().filter_map(|map| map.get("title")?.as_str());
    let sentence = title.filter(|title| title.trim().contains(' '));
    let text = description
        .chain(sentence)
        .map(|text| clean_text(text, max))
        .find(|text| !text.is_empty())
        .unwrap_or_default();
    append_notes(&text, notes)
}

/// Returns a description with notes at its end, within the limit of a description.
pub(crate) fn append_notes(text: &str, notes: &[String]) -> String {
    let notes = clean_text(&notes.join("; "), MAX_NOTES);
    match (text.is_empty(), notes.is_empty()) {
        (_, true) => text.to_owned(),
        (true, false) => format!("({notes})"),
        (false, false) => {
            let room = MAX_DESCRIPTION.saturating_sub(notes.chars().count() + 3);
            format!("{} ({notes})", clean_text(text, room))
        }
    }
}

/// Returns the notes for the keywords that the shown form lacks, in the words of JSON Schema.
pub(crate) fn keyword_notes(parts: &Parts<'_>, shows_choices: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(values) = parts.choices().filter(|_| !shows_choices) {
        let values: Vec<_> = values.into_iter().take(MAX_NOTES).map(Value::to_string).collect();
        notes.push(format!("enum: {}", clean_text(&values.join(", "), MAX_NOTES)));
    }
    for key in NOTED {
        // A default beside a reference counts in each draft.
        let schemas = if key == "default" { &parts.texts } else { &parts.maps };
        let value = schemas.iter().find_map(|map| map.get(key));
        notes.extend(value.filter(|value| is_worth_noting(value)).map(|value| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            format!("{key}: {}", clean_text(&text, MAX_VALUE))
        }));
    }
    notes
}

fn is_worth_noting(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number
            .as_i64()
            .is_none_or(|number| number.unsigned_abs() != SAFE_INTEGER.unsigned_abs()),
        _ => true,
    }
}
