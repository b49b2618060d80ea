//! Values of a workflow: arguments, results of steps, and their fields.

use serde_json::Value;

/// Returns the value of a step's text: JSON for an object or a list, also in a fence, else the text.
#[must_use]
pub fn parse_result(text: &str) -> Value {
    let bare = text.trim();
    let fenced = bare.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let json = fenced.and_then(|rest| rest.split_once('\n')).map_or(bare, |(_, body)| body.trim());
    let is_structured = json.starts_with(['{', '[']);
    let value = is_structured.then(|| serde_json::from_str(json).ok()).flatten();
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Returns the field at a path, or null.
#[must_use]
pub fn find_field<'v>(value: &'v Value, fields: &[String]) -> &'v Value {
    fields.iter().fold(value, |value, field| {
        let part = match value {
            Value::Object(members) => members.get(field),
            Value::Array(items) => field.parse::<usize>().ok().and_then(|nth| items.get(nth)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        part.unwrap_or(&Value::Null)
    })
}

/// Returns true for a value without content: null, false, or an empty text, list or mapping.
#[must_use]
pub fn is_empty_value(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(_) => false,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// Returns a value as text: texts unchanged, lists of texts as paragraphs, null as nothing, others as JSON.
#[must_use]
pub fn to_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n\n")
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Returns the value in a user's text for a parameter with this JSON Schema. A list may be written with commas. `None`
/// if the text has another type, or is not one of the schema's values.
#[must_use]
pub fn parse_parameter(schema: Option<&Value>, text: &str) -> Option<Value> {
    let kind = schema.and_then(|schema| schema.get("type")?.as_str());
    let text = text.trim();
    let json = || serde_json::from_str::<Value>(text).ok();
    let value = match kind {
        Some("integer") => json().filter(|value| value.is_i64() || value.is_u64()),
        Some("number") => json().filter(Value::is_number),
        Some("boolean") => json().filter(Value::is_boolean),
        Some("array") => json().filter(Value::is_array).or_else(|| Some(split_list(text))),
        Some("object") => json().filter(Value::is_object),
        Some(_) | None => Some(Value::String(text.to_owned())),
    };
    let values = schema.and_then(|schema| schema.get("enum")?.as_array());
    let is_allowed =
        |value: &Value| values.is_none_or(|values| values.iter().any(|own| own == value));
    value.filter(is_allowed).filter(|value| !is_empty_value(value) || value.is_boolean())
}

/// Returns the parts of a text with commas.
fn split_list(text: &str) -> Value {
    let parts =
        text.split([',', '\u{ff0c}', '\u{3001}']).map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}
