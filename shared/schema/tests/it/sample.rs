//! Values that a schema may accept, by chance.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// Levels after which a value ends as soon as possible.
const DEEP: usize = 5;

const STRINGS: [&str; 14] = [
    "a",
    "text with words",
    "ab12",
    "2026-01-02",
    "2026-01-02T03:04:05Z",
    "https://example.com/a",
    "C12345678",
    "PROJ",
    "123456",
    "a@example.com",
    "1234567890.123456",
    "RRULE:FREQ=DAILY",
    "1:2",
    "b0d4ce5d-2757-4699-948c-cfa72ba94f86",
];

/// Returns a value for a schema, which the schema often accepts. A field has a type that the schema describes.
pub(super) fn sample_value(root: &Value, schema: &Value, rng: &mut Rng, level: usize) -> Value {
    // A field that its own schema requires again has no valid value.
    if level > 3 * DEEP {
        return json!({});
    }
    let Value::Object(map) = schema else { return sample_any(rng) };
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let fragment = reference.trim_start_matches('#');
        let target = root.pointer(fragment).cloned().or_else(|| find_anchor(root, fragment));
        return merge(
            sample_value(root, &target.unwrap(), rng, level + 1),
            sample_keywords(root, map, rng, level),
        );
    }
    sample_keywords(root, map, rng, level)
}

fn sample_keywords(root: &Value, map: &Map<String, Value>, rng: &mut Rng, level: usize) -> Value {
    if let Some(value) = map.get("const") {
        return value.clone();
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        return rng.choice(values).cloned().unwrap_or(Value::Null);
    }
    let mut value = sample_own(root, map, rng, level);
    for key in ["anyOf", "oneOf"] {
        let Some(branches) = map.get(key).and_then(Value::as_array) else { continue };
        // Deep in a recursive schema, the simplest branch ends the value.
        let branch = if level > DEEP {
            branches.iter().min_by_key(|branch| branch.to_string().len())
        } else {
            rng.choice(branches)
        };
        let sampled = branch.map(|branch| sample_value(root, branch, rng, level + 1));
        value = merge(sampled.unwrap_or(Value::Null), value);
    }
    for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        value = merge(sample_value(root, part, rng, level + 1), value);
    }
    value
}

/// Joins the fields of objects; otherwise the first value counts, unless it says nothing.
fn merge(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut first), Value::Object(second)) => {
            for (name, value) in second {
                first.entry(name).or_insert(value);
            }
            Value::Object(first)
        }
        (Value::Null, second) => second,
        (first, _) => first,
    }
}

fn sample_own(root: &Value, map: &Map<String, Value>, rng: &mut Rng, level: usize) -> Value {
    let kinds: Vec<&str> = match map.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ if map.contains_key("properties") || map.contains_key("required") => vec!["object"],
        _ if map.contains_key("items") || map.contains_key("prefixItems") => vec!["array"],
        _ if ["$ref", "anyOf", "oneOf", "allOf"].iter().any(|key| map.contains_key(*key)) => {
            return Value::Null;
        }
        _ => return sample_any(rng),
    };
    match *rng.choice(&kinds).unwrap() {
        "string" => json!(rng.choice(STRINGS).unwrap()),
        "integer" => json!(rng.i64(-2..12)),
        "number" if rng.bool() => json!(rng.i64(-1..200)),
        "number" => json!(rng.f64() * 9.0),
        "boolean" => json!(rng.bool()),
        "array" => sample_array(root, map, rng, level),
        "object" => sample_object(root, map, rng, level),
        _ => Value::Null,
    }
}

fn sample_array(root: &Value, map: &Map<String, Value>, rng: &mut Rng, level: usize) -> Value {
    let old = map.get("items").and_then(Value::as_array);
    let tuple = map.get("prefixItems").and_then(Value::as_array).or(old);
    let fewest = map.get("minItems").and_then(Value::as_u64).unwrap_or(0);
    let most = if level > DEEP { fewest } else { fewest + 2 };
    let length = usize::try_from(rng.u64(fewest..=most)).unwrap();
    let items = map.get("items").filter(|items| !items.is_array()).unwrap_or(&Value::Bool(true));
    let item = |at: usize| tuple.and_then(|tuple| tuple.get(at)).unwrap_or(items);
    (0..length).map(|at| sample_value(root, item(at), rng, level + 1)).collect()
}

fn sample_object(root: &Value, map: &Map<String, Value>, rng: &mut Rng, level: usize) -> Value {
    let required: Vec<&str> = map
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut object = Map::new();
    for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if required.contains(&name.as_str()) || (level <= DEEP && rng.u8(0..3) > 0) {
            object.insert(name.clone(), sample_value(root, schema, rng, level + 1));
        }
    }
    let other = match (map.get("additionalProperties"), map.get("patternProperties")) {
        (_, Some(patterns)) => patterns
            .as_object()
            .and_then(|patterns| patterns.values().next())
            .map(|schema| ("gte", schema)),
        (Some(schema @ Value::Object(_)), None) => Some(("k1", schema)),
        _ => None,
    };
    if let Some((name, schema)) = other.filter(|_| level <= DEEP && rng.bool()) {
        object.insert(name.to_owned(), sample_value(root, schema, rng, level + 1));
    }
    for name in required {
        object.entry(name).or_insert_with(|| sample_any(rng));
    }
    Value::Object(object)
}

fn sample_any(rng: &mut Rng) -> Value {
    let values = [
        json!("any"),
        json!(7),
        json!(null),
        json!({"k1": [[1]]}),
        json!([["x"], {}]),
        json!(true),
    ];
    rng.choice(values).unwrap()
}

fn find_anchor(value: &Value, name: &str) -> Option<Value> {
    match value {
        Value::Object(map) if map.get("$anchor").is_some_and(|anchor| anchor == name) => {
            Some(value.clone())
        }
        Value::Object(map) => map.values().find_map(|inner| find_anchor(inner, name)),
        Value::Array(items) => items.iter().find_map(|inner| find_anchor(inner, name)),
        _ => None,
    }
}
