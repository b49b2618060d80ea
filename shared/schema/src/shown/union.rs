//! Schemas of which any may apply.

use serde_json::{Map, Value, json};

use crate::text::{MAX_DESCRIPTION, clean_text};

/// Maximum values of the `enum` of joined branches.
const MAX_CHOICES: usize = 250;

/// Returns one schema that accepts what any of the branches accepts; without branches, anything.
///
/// The text describes the whole. Gemini accepts no other keyword beside `anyOf`, so the first branch has the text.
pub(super) fn join_branches(branches: Vec<Map<String, Value>>, text: &str) -> Map<String, Value> {
    let mut flat: Vec<Map<String, Value>> = Vec::new();
    for mut branch in branches {
        match branch.remove("anyOf") {
            Some(Value::Array(inner)) => flat.extend(inner.into_iter().filter_map(into_map)),
            _ => flat.push(branch),
        }
    }
    let accepts_anything =
        flat.is_empty() || flat.iter().any(|branch| !branch.contains_key("type"));
    if accepts_anything {
        let only = if flat.len() == 1 { flat.pop() } else { None };
        let mut joined = only.unwrap_or_default();
        prepend_text(&mut joined, text);
        return joined;
    }
    let mut distinct = remove_repeats(merge_choices(flat));
    if let Some(first) = distinct.first_mut() {
        prepend_text(first, text);
    }
    // With the text, the first branch may equal a later one.
    let mut distinct = remove_repeats(distinct);
    if distinct.len() == 1 {
        distinct.pop().unwrap_or_default()
    } else {
        Map::from_iter([("anyOf".to_owned(), json!(distinct))])
    }
}

fn remove_repeats(branches: Vec<Map<String, Value>>) -> Vec<Map<String, Value>> {
    let mut distinct: Vec<Map<String, Value>> = Vec::with_capacity(branches.len());
    for branch in branches {
        if !distinct.contains(&branch) {
            distinct.push(branch);
        }
    }
    distinct
}

/// Puts a text before the description of a schema.
pub(super) fn prepend_text(schema: &mut Map<String, Value>, text: &str) {
    if text.is_empty() {
        return;
    }
    let first = match schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(branches) => branches.first_mut().and_then(Value::as_object_mut),
        None => Some(schema),
    };
    if let Some(first) = first {
        let own = first.get("description").and_then(Value::as_str).unwrap_or_default();
        let whole = if own.is_empty() { text.to_owned() } else { format!("{text} {own}") };
        let whole = clean_text(&whole, MAX_DESCRIPTION);
        first.insert("description".to_owned(), whole.into());
    }
}

fn into_map(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

/// Joins branches that only list strings: a union of constants becomes one `enum`.
fn merge_choices(branches: Vec<Map<String, Value>>) -> Vec<Map<String, Value>> {
    let mut merged: Vec<Map<String, Value>> = Vec::new();
    let mut place: Option<usize> = None;
    for branch in branches {
        let is_plain = branch.len() == 2;
        let Some(values) = branch.get("enum").and_then(Value::as_array).filter(|_| is_plain) else {
            merged.push(branch);
            continue;
        };
        let target = place.and_then(|at| merged.get_mut(at)?.get_mut("enum")?.as_array_mut());
        match target {
            Some(all) if all.len() + values.len() <= MAX_CHOICES => {
                for value in values {
                    if !all.contains(value) {
                        all.push(value.clone());
                    }
                }
            }
            _ => {
                place = Some(merged.len());
                merged.push(branch);
            }
        }
    }
    merged
}
