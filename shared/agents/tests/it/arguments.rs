//! What an agent is called with, and what it answers.

use djinn_agents::{check_answer, check_arguments, fill_arguments, find_parameter_violation};
use serde_json::{Map, Value, json};

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "task": {"type": "string", "minLength": 1},
            "depth": {"type": "integer"},
        },
        "required": ["task"],
        "additionalProperties": false,
    })
}

#[test]
fn arguments_are_held_to_the_parameters() {
    let check = |arguments| check_arguments(&parameters(), &object(&arguments));
    assert_eq!(check(json!({"task": "x", "depth": 3})), Ok(()));
    for (arguments, sentence) in [
        (json!({}), "\"task\" is a required property"),
        (json!({"task": ""}), "/task: \"\" is shorter than 1 character"),
        (
            json!({"task": 3, "depth": "x", "other": 1}),
            "/task: 3 is not of type \"string\"; /depth: \"x\" is not of type \"integer\"; \
             Additional properties are not allowed ('other' was unexpected)",
        ),
    ] {
        assert_eq!(check(arguments), Err(sentence.to_owned()));
    }
}

#[test]
fn answers_are_held_to_their_schema() {
    let schema = json!({"type": "array", "items": {"type": "integer"}});
    assert_eq!(check_answer(&schema, &json!([1, 2])), Ok(()));
    let sentence = "/0: \"a\" is not of type \"integer\"; /2: \"b\" is not of type \"integer\"; \
                    /3: \"c\" is not of type \"integer\"";
    assert_eq!(check_answer(&schema, &json!(["a", 1, "b", "c", "d"])), Err(sentence.to_owned()));
}

#[test]
fn a_schema_that_is_none_lets_nothing_through() {
    let sentence = "the schema cannot be used: \"x\" is not a type: there are array, boolean, integer, \
                    null, number, object and string";
    assert_eq!(check_answer(&json!({"type": "x"}), &json!(1)), Err(sentence.to_owned()));
}

#[test]
fn what_a_call_leaves_out_has_its_default() {
    let parameters = json!({"type": "object", "properties": {
        "task": {"type": "string"}, "strict": {"type": "boolean", "default": true},
        "most": {"type": "integer", "default": 5},
    }});
    let filled = fill_arguments(&parameters, object(&json!({"task": "look", "most": 7})));
    assert_eq!(Value::Object(filled), json!({"task": "look", "strict": true, "most": 7}));
}

#[test]
fn violation_names_its_argument_and_never_the_value() {
    let parameters = json!({
        "type": "object",
        "properties": {
            "task": {"type": "string"},
            "filter": {"type": "object", "properties": {"years": {"type": "array", "items": {"type": "integer"}}}},
        },
        "required": ["task"],
        "additionalProperties": false,
    });
    let find = |arguments| find_parameter_violation(&parameters, &object(&arguments));
    assert_eq!(find(json!({"task": "x", "filter": {"years": [2026]}})), None);
    for (arguments, path, part) in [
        (json!({}), "task", "is missing"),
        (json!({"task": "x", "other": 1}), "other", "is not an argument"),
        (json!({"task": 4711}), "task", "is not valid: value is not of type"),
        (json!({"task": "x", "filter": {"years": ["s3cret"]}}), "filter.years.0", "is not valid"),
    ] {
        let found = find(arguments).unwrap();
        assert_eq!(found.path, path);
        let is_masked = !found.problem.contains("4711") && !found.problem.contains("s3cret");
        assert!(found.problem.contains(part) && is_masked, "{}", found.problem);
    }
}
