//! The parameters of a tool: a JSON Schema, as a TOML table or as JSON in a text.

use serde_json::{Value, json};

use crate::fields::{FieldReader, Section};

/// Reads the schema, by default one without parameters. Its keywords are checked by the compiler of schemas.
pub(super) fn read_parameters<'a>(
    reader: &mut FieldReader<'a>,
    top: &Section<'a>,
) -> Option<Value> {
    if !top.has_field("parameters") {
        return Some(json!({"type": "object", "properties": {}}));
    }
    let field = reader.read_json(top, "parameters")?;
    let line = field.line;
    let schema = match field.value {
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(schema) => schema,
            Err(error) => {
                let rule = format!("`parameters` is no JSON: {error}");
                reader.refuse(line, rule);
                return None;
            }
        },
        schema => schema,
    };
    let problem = find_problem(&schema);
    if let Some(rule) = problem {
        reader.refuse(line, rule);
        return None;
    }
    Some(schema)
}

fn find_problem(schema: &Value) -> Option<String> {
    let Some(members) = schema.as_object() else {
        return Some(
            "`parameters` must be a JSON Schema, as a table or as JSON in a text".to_owned(),
        );
    };
    if members.get("type").and_then(Value::as_str) != Some("object") {
        return Some("`parameters.type` must be \"object\"".to_owned());
    }
    let no_properties = json!({});
    let properties = members.get("properties").unwrap_or(&no_properties);
    let Some(properties) = properties.as_object() else {
        return Some("`parameters.properties` must be a table of schemas".to_owned());
    };
    for (name, property) in properties {
        if name.is_empty() || name.contains(['{', '}', '\n']) || name.starts_with("key:") {
            return Some(format!(
                "`parameters.properties` has `{name}`, which no placeholder can name"
            ));
        }
        if !property.is_object() && !property.is_boolean() {
            return Some(format!("`parameters.properties.{name}` must be a schema"));
        }
    }
    let no_names = json!([]);
    let required = members.get("required").unwrap_or(&no_names).as_array();
    let names = required.map(|names| names.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
    let Some(Some(names)) = names else {
        return Some("`parameters.required` must be a list of names".to_owned());
    };
    if let Some(name) = names.iter().find(|name| !properties.contains_key(**name)) {
        return Some(format!("`parameters.required` names `{name}`, which is no property"));
    }
    find_remote_reference(schema)
        .map(|target| format!("`parameters` refers to `{target}`: a `$ref` must begin with `#`"))
}

/// Returns the first reference to another document.
fn find_remote_reference(schema: &Value) -> Option<String> {
    match schema {
        Value::Object(members) => members.iter().find_map(|(name, value)| match value {
            Value::String(target)
                if matches!(name.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef")
                    && !target.starts_with('#') =>
            {
                Some(target.chars().take(100).collect())
            }
            value => find_remote_reference(value),
        }),
        Value::Array(items) => items.iter().find_map(find_remote_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
