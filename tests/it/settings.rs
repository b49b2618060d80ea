//! The tables of settings are all there is: what the template gives, what documents name, what is read.

use std::collections::BTreeSet;
use std::fs;

use djinn_settings::table::{TABLES, aws, tools, web};
use djinn_settings::{PREFIX, Setting, SettingSource, ValueKind};
use serde_json::{Value, json};

use crate::layout::{files_below, root};
use crate::template::transformed;

/// A variable of lambda_http's, which the agent is given too.
const STAGE: &str = "AWS_LAMBDA_HTTP_IGNORE_STAGE_IN_PATH";

/// What a laptop alone may ask for, and the template's parameter may not.
const ON_LAPTOPS: [&str; 1] = ["none"];

fn rows() -> impl Iterator<Item = &'static Setting> {
    TABLES.iter().flat_map(|table| table.rows.iter().copied())
}

fn is_given(row: &Setting) -> bool {
    matches!(row.source, SettingSource::Parameter(_) | SettingSource::Stack)
}

/// Whether a row is for the gateway's functions, and not for those that drive runs.
fn is_gateways(row: &Setting) -> bool {
    web::TABLE.rows.iter().any(|other| other.name == row.name)
}

/// The function that is given all of a row's table.
fn function_of(row: &Setting) -> &'static str {
    if is_gateways(row) { "Call" } else { "Agent" }
}

/// The variables that a deployment gives the gateway's functions: the one that reads pages, and the other.
fn gateway_variables() -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let given = rows().filter(|row| is_gateways(row) && is_given(row));
    let fetch: BTreeSet<_> =
        given.map(|row| row.name).filter(|name| *name != web::SEAL_KEY.name).collect();
    // The folder with the engines, and users' keys, are nothing for what parses pages.
    let calls = [tools::CONFIG.name, aws::BUCKET.name, web::SEAL_KEY.name];
    let call = fetch.iter().copied().chain(calls).collect();
    (fetch, call)
}

/// The variables that a deployment gives both functions, and those for the agent alone.
fn given_variables() -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let (mut both, mut agents) = (BTreeSet::new(), BTreeSet::from([STAGE]));
    for table in TABLES {
        for row in table.rows.iter().filter(|row| is_given(row) && !is_gateways(row)) {
            if table.name == "agent" {
                agents.insert(row.name);
            } else {
                both.insert(row.name);
            }
        }
    }
    (both, agents)
}

/// A sentence for everything in which a transformed template differs from the tables.
fn differences(template: &Value) -> Vec<String> {
    let (both, agents) = given_variables();
    let with_agents = both.union(&agents).copied().collect();
    let mut found = different_variables(template, "Executor", &both);
    found.extend(different_variables(template, "Agent", &with_agents));
    let (fetch, call) = gateway_variables();
    found.extend(different_variables(template, "Fetch", &fetch));
    found.extend(different_variables(template, "Call", &call));
    for row in rows() {
        if let SettingSource::Parameter(parameter) = row.source {
            found.extend(different_parameter(template, row, parameter));
        }
    }
    found
}

fn variables_of<'a>(template: &'a Value, function: &str) -> &'a Value {
    &template["Resources"][function]["Properties"]["Environment"]["Variables"]
}

fn different_variables(template: &Value, function: &str, wanted: &BTreeSet<&str>) -> Vec<String> {
    let variables = variables_of(template, function).as_object().unwrap();
    let found: BTreeSet<_> = variables.keys().map(String::as_str).collect();
    let missing = wanted.difference(&found).map(|name| format!("{function} is not given {name}"));
    let unknown = found.difference(wanted);
    let unknown = unknown.map(|name| format!("{function} is given {name}, which it does not read"));
    missing.chain(unknown).collect()
}

fn different_parameter(template: &Value, row: &Setting, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let parameter = &template["Parameters"][name];
    if parameter.is_null() {
        return vec![format!("{} comes from the parameter {name}, which is not there", row.name)];
    }
    if !has_reference(&variables_of(template, function_of(row))[row.name], name) {
        found.push(format!("{} is not given by the parameter {name}", row.name));
    }
    let default = row.deployed_default.or(row.default).unwrap_or_default();
    let found_default = as_text(&parameter["Default"]);
    let is_list = parameter["Type"] == "CommaDelimitedList";
    let is_listed = is_list && found_default.split(',').any(|item| item == default);
    if found_default != default && !is_listed {
        let theirs = &parameter["Default"];
        found.push(format!("{name} has the default {theirs}, {} has `{default}`", row.name));
    }
    let allowed = parameter["AllowedValues"].as_array().into_iter().flatten().map(as_text);
    let allowed: BTreeSet<String> = allowed.collect();
    let words: &[&str] = match row.kind {
        ValueKind::Choice(words) => words,
        ValueKind::Switch => &["1", "0"],
        _ => &[],
    };
    let words = words.iter().filter(|word| !ON_LAPTOPS.contains(word));
    if allowed != words.map(|word| (*word).to_owned()).collect() {
        found.push(format!("{name} allows {allowed:?}, {} is {}", row.name, row.kind));
    }
    if parameter["NoEcho"] == true && !row.is_secret {
        found.push(format!("{name} is not echoed, and {} is no secret", row.name));
    }
    found
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a value is, or has within it, a reference to a parameter.
fn has_reference(value: &Value, parameter: &str) -> bool {
    match value {
        Value::Object(members) => {
            members.get("Ref").is_some_and(|to| to == parameter)
                || members.values().any(|value| has_reference(value, parameter))
        }
        Value::Array(items) => items.iter().any(|item| has_reference(item, parameter)),
        _ => false,
    }
}

#[test]
fn the_template_gives_each_function_the_settings_that_it_reads() {
    let found = differences(&transformed());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Everything but infrastructure is said in the configuration folder, and only there.
#[test]
fn a_setting_is_a_parameter_or_a_field_of_the_file_and_parameters_are_few() {
    let template = transformed();
    let parameters = template["Parameters"].as_object().unwrap();
    assert!(parameters.len() <= 30, "{} parameters", parameters.len());
    let squash = |name: &str| name.replace(['_', '.'], "").to_lowercase();
    for row in rows().filter(|row| row.field.is_some()) {
        assert_eq!(row.source, SettingSource::File, "{} has two sources", row.name);
        let field = row.field.unwrap();
        let key = field.rsplit('.').next().unwrap();
        let twins: Vec<_> = parameters
            .keys()
            .filter(|name| [squash(field), squash(key)].contains(&squash(name)))
            .collect();
        assert!(twins.is_empty(), "the field {field} is also the parameter {twins:?}");
        assert!(!template.to_string().contains(&format!("{:?}", row.name)), "{field} is given");
    }
}

#[test]
fn a_template_that_differs_from_the_tables_is_noticed() {
    let variables = |function| format!("/Resources/{function}/Properties/Environment/Variables");
    let (agent, executor) = (variables("Agent"), variables("Executor"));
    let (fetch, call) = (variables("Fetch"), variables("Call"));
    for (place, name, value, complaint) in [
        (&*agent, "DJINN_TABEL", json!("x"), "Agent is given DJINN_TABEL"),
        (&*executor, "DJINN_LINK_KEY", json!("x"), "Executor is given DJINN_LINK_KEY"),
        (&*executor, "DJINN_LOCAL", json!("1"), "Executor is given DJINN_LOCAL"),
        (&*agent, "DJINN_LIMITS__MAX_STEPS", json!("9"), "Agent is given DJINN_LIMITS__MAX_STEPS"),
        (&*agent, "DJINN_LINK_URL", Value::Null, "Agent is not given DJINN_LINK_URL"),
        (&*agent, "DJINN_SEARCH__ENGINES", json!("x"), "Agent is given DJINN_SEARCH__ENGINES"),
        (&*fetch, "DJINN_CONFIG", json!("x"), "Fetch is given DJINN_CONFIG"),
        (&*fetch, "DJINN_GATEWAY_ROLE", Value::Null, "Fetch is not given DJINN_GATEWAY_ROLE"),
        (&*call, "DJINN_TABLE", json!("x"), "Call is given DJINN_TABLE"),
        (&*agent, "DJINN_IAM_USER", json!("role"), "not given by the parameter IamUser"),
        (&*agent, "DJINN_JWT_USER_CLAIM", json!("sub"), "not given by the parameter JwtClaims"),
        ("/Parameters", "IamUser", Value::Null, "parameter IamUser, which is not there"),
        ("/Parameters/IamUser", "Default", json!("role"), "IamUser has the default \"role\""),
        ("/Parameters/JwtClaims", "Default", json!("tenant,user"), "JwtClaims has the default"),
        ("/Parameters/Auth", "AllowedValues", json!(["iam", "key"]), "Auth allows"),
        ("/Parameters/Config", "NoEcho", json!(true), "Config is not echoed"),
    ] {
        let mut template = transformed();
        let members = template.pointer_mut(place).unwrap().as_object_mut().unwrap();
        match value {
            Value::Null => drop(members.shift_remove(name).unwrap()),
            value => drop(members.insert(name.to_owned(), value)),
        }
        let found = differences(&template);
        assert!(found.iter().any(|found| found.contains(complaint)), "{complaint}: {found:?}");
    }
}

/// The names of ours that a text holds. One that ends with `_` stands for all that begin so.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices(PREFIX).map(|(at, _)| &text[at..]);
    starts.map(|rest| {
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())]
    })
}

fn is_known(name: &str) -> bool {
    rows().any(|row| {
        row.name == name
            || (name.ends_with('_') && row.name.starts_with(name))
            || row.override_name().as_deref() == Some(name)
    })
}

#[test]
fn every_variable_that_is_named_anywhere_is_a_setting() {
    let directories =
        ["docs", "examples", "functions", "infra", "prompts", "shared", "xtask", ".github"];
    let files = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "template.yaml",
    ];
    let files = files.map(str::to_owned).into_iter();
    // What tests misspell on purpose.
    let is_told = |path: &String| {
        !path.starts_with("shared/settings/src/") && path != "infra/check/breakages.py"
    };
    let mut unknown = BTreeSet::new();
    for path in files.chain(directories.into_iter().flat_map(files_below)).filter(is_told) {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        let names = names_in(&text).filter(|name| !is_known(name));
        unknown.extend(names.map(|name| format!("{path} names {name}")));
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn names_are_found_in_texts() {
    let names: Vec<_> = names_in("`DJINN_JWT_…`, DJINN_TABEL=x and ${DJINN_KEY:+}").collect();
    assert_eq!(names, ["DJINN_JWT_", "DJINN_TABEL", "DJINN_KEY"]);
    assert!(is_known("DJINN_JWT_") && is_known("DJINN_KEY") && !is_known("DJINN_TABEL"));
    assert!(!is_known("DJINN_JWX_"));
}
