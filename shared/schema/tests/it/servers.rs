//! Schemas as known servers have them: each keeps the rules of all providers, and accepts what it accepted before.

use std::fs;
use std::path::Path;

use djinn_schema::{OriginalSchema, ShownSchema, shown_form, tool_name};
use fastrand::Rng;
use serde_json::{Map, Value};

use super::providers::broken_rules;
use super::sample::sample_value;

/// Returns the schemas of `tests/servers/`, each with the name of its tool.
pub(super) fn server_schemas() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut schemas = Vec::new();
    for file in files {
        let server = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let list: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for tool in list["tools"].as_array().unwrap() {
            schemas.push((
                tool_name(&server, tool["name"].as_str().unwrap()),
                tool["inputSchema"].clone(),
            ));
        }
    }
    schemas
}

/// Returns a value of the original schema as a model writes it for the shown form.
pub(super) fn rename(shown: &ShownSchema, value: &Value) -> Value {
    let names = serde_json::to_value(shown).unwrap()["names"].clone();
    rename_value(&names, &[&shown.schema], value)
}

fn rename_value(names: &Value, schemas: &[&Value], value: &Value) -> Value {
    let branches: Vec<&Value> = schemas
        .iter()
        .flat_map(|schema| {
            schema["anyOf"].as_array().map_or(vec![*schema], |all| all.iter().collect())
        })
        .collect();
    match value {
        Value::Object(fields) => {
            let mut renamed = Map::new();
            for (name, field) in fields {
                let shown_name = names
                    .as_object()
                    .into_iter()
                    .flatten()
                    .find(|(_, original)| *original == name)
                    .map_or(name, |(shown, _)| shown);
                let known: Vec<&Value> = branches
                    .iter()
                    .filter_map(|branch| branch.get("properties")?.get(shown_name))
                    .collect();
                let others: Vec<&Value> = branches
                    .iter()
                    .filter_map(|branch| branch.get("additionalProperties"))
                    .collect();
                let (name, inner) =
                    if known.is_empty() { (name, others) } else { (shown_name, known) };
                renamed.insert(name.clone(), rename_value(names, &inner, field));
            }
            Value::Object(renamed)
        }
        Value::Array(items) => {
            let inner: Vec<&Value> =
                branches.iter().filter_map(|branch| branch.get("items")).collect();
            items.iter().map(|item| rename_value(names, &inner, item)).collect()
        }
        other => other.clone(),
    }
}

/// Checks values that the original schema accepts against the shown form, and returns their number.
pub(super) fn check_samples(
    name: &str,
    original: &Value,
    shown: &ShownSchema,
    samples: u64,
) -> usize {
    let compiled =
        OriginalSchema::compile(original).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    let shown_check = OriginalSchema::compile(&shown.schema).unwrap();
    let mut accepted = 0;
    for seed in 0..samples {
        let value = sample_value(original, original, &mut Rng::with_seed(seed), 0);
        if !value.is_object() || compiled.check_arguments(&value).is_err() {
            continue;
        }
        accepted += 1;
        let renamed = rename(shown, &value);
        if let Err(violation) = shown_check.check_arguments(&renamed) {
            panic!(
                "{name}: {violation}\nvalue {value}\noriginal {original}\nshown {}",
                shown.schema
            );
        }
        assert_eq!(shown.restore(&renamed), value, "{name}: {}", shown.schema);
    }
    accepted
}

#[test]
fn there_are_enough_schemas() {
    assert!(server_schemas().len() >= 80, "{}", server_schemas().len());
}

#[test]
fn shown_forms_keep_the_rules_of_all_providers() {
    for (name, original) in server_schemas() {
        let shown = shown_form(&original).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert_eq!(broken_rules(&shown), Vec::<String>::new(), "{name}: {}", shown.schema);
        assert!(
            name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)),
            "{name}"
        );
    }
}

#[test]
fn shown_forms_accept_what_the_originals_accept() {
    for (name, original) in server_schemas() {
        let shown = shown_form(&original).unwrap();
        assert!(check_samples(&name, &original, &shown, 300) > 0, "{name}: no sample fits");
    }
}

#[test]
fn shown_form_of_a_shown_form_is_the_same() {
    for (name, original) in server_schemas() {
        let shown = shown_form(&original).unwrap();
        let again = shown_form(&shown.schema).unwrap();
        assert_eq!(again.schema, shown.schema, "{name}");
        assert_eq!(again.note, "", "{name}");
    }
}

#[test]
fn shown_forms_survive_storage() {
    for (name, original) in server_schemas() {
        let shown = shown_form(&original).unwrap();
        let stored = serde_json::to_string(&shown).unwrap();
        assert_eq!(serde_json::from_str::<ShownSchema>(&stored).unwrap(), shown, "{name}");
    }
}
