//! JSON Schemas derived from argument structs, and deserialization of calls into these structs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use serde_path_to_error::Segment;

/// Returns the schema of an argument struct for providers: without references, number formats and `null`,
/// because models may omit optional fields.
pub(crate) fn derive_schema<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let generator = settings.with_transform(RecursiveTransform(simplify_schema)).into_generator();
    let mut schema = generator.into_root_schema_for::<A>();
    // The tool's own text replaces the description.
    schema.remove("title");
    schema.remove("description");
    schema.to_value()
}

fn simplify_schema(schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [name] = types.as_slice() {
            let name = name.clone();
            members.insert("type".to_owned(), name);
        }
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = members.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(choice)] = choices.as_slice() {
            let choice = choice.clone();
            members.remove("anyOf");
            choice.into_iter().for_each(|(name, value)| {
                members.entry(name).or_insert(value);
            });
        }
    }
    if members.get("type").is_some_and(|name| name == "integer" || name == "number") {
        members.remove("format");
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
}

/// Replaces the doc comments by other descriptions, by parameter.
pub(crate) fn describe_parameters(mut schema: Value, words: BTreeMap<String, String>) -> Value {
    for (name, text) in words {
        let parameter = schema.get_mut("properties").and_then(|all| all.get_mut(&name));
        if let Some(Value::Object(members)) = parameter {
            members.insert("description".to_owned(), text.into());
        }
    }
    schema
}

/// Deserializes a call's arguments.
///
/// # Errors
/// Returns serde's message, after the path of the error.
pub(crate) fn read_arguments<A: DeserializeOwned>(
    arguments: &Map<String, Value>,
) -> Result<A, String> {
    let arguments = arguments.iter().map(|(name, value)| (name.clone(), with_integers(value)));
    let result = serde_path_to_error::deserialize(Value::Object(arguments.collect()));
    result.map_err(|error| {
        // The path in the form of the schema check: `/files/0/name`.
        let mut path = String::new();
        for segment in error.path().iter() {
            // Writing into a text cannot fail.
            let _ = match segment {
                Segment::Seq { index } => write!(path, "/{index}"),
                Segment::Map { key } => write!(path, "/{key}"),
                Segment::Enum { variant } => write!(path, "/{variant}"),
                Segment::Unknown => write!(path, "/?"),
            };
        }
        match path.as_str() {
            "" => error.inner().to_string(),
            path => format!("{path}: {}", error.inner()),
        }
    })
}

/// Converts numbers like `2.0` to integers: JSON Schema and models accept these as integers, serde does not.
fn with_integers(value: &Value) -> Value {
    /// Every integer below this number is exact as a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Array(items) => items.iter().map(with_integers).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), with_integers(value))).collect()
        }
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT);
            #[allow(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
            float.map_or_else(|| value.clone(), |float| Number::from(float as i64).into())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Unit {
        Day,
        Hour,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Wait {
        /// How long it is.
        length: Option<f32>,
        unit: Option<Unit>,
        #[schemars(range(min = 1, max = 9))]
        times: u64,
        before: Option<Box<Wait>>,
    }

    #[test]
    fn a_schema_has_what_every_provider_takes() {
        let schema = derive_schema::<Flat>();
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "length": {"description": "How long it is.", "type": "number"},
                    "unit": {"type": "string", "enum": ["day", "hour"]},
                    "times": {"type": "integer", "minimum": 1, "maximum": 9},
                    "stops": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["times"],
            })
        );
        // One that holds itself cannot be without a reference.
        assert!(derive_schema::<Wait>().to_string().contains("$ref"));
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code, reason = "its schema is looked at")]
    struct Flat {
        /// How long it is.
        length: Option<f32>,
        unit: Option<Unit>,
        #[schemars(range(min = 1, max = 9))]
        times: u64,
        stops: Option<Vec<String>>,
    }

    #[test]
    fn a_whole_float_is_an_integer() {
        let read = |arguments: Value| read_arguments::<Wait>(arguments.as_object().unwrap());
        let wait = read(json!({"times": 2.0, "length": 2.0, "before": {"times": 1}})).unwrap();
        assert_eq!((wait.times, wait.length), (2, Some(2.0)));
        let error = read(json!({"times": 1, "before": {"times": 1.5}})).unwrap_err();
        assert_eq!(error, "/before/times: invalid type: floating point `1.5`, expected u64");
        let error = read(json!({"times": 1, "unti": "day"})).unwrap_err();
        assert!(error.starts_with("/unti: unknown field `unti`, expected one of"), "{error}");
        assert_eq!(read(json!({})).unwrap_err(), "missing field `times`");
    }
}
