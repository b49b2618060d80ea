//! The check of arguments against the schema as its author wrote it.

use djinn_schema::{OriginalSchema, SchemaProblem};
use serde_json::json;

#[test]
fn each_draft_is_read_by_its_own_rules() {
    for (schema, good, bad) in [
        (
            json!({"type": "object", "properties": {"a": {"type": "integer"}}}),
            json!({"a": 1}),
            json!({"a": "1"}),
        ),
        (json!({"prefixItems": [{"type": "string"}]}), json!(["a"]), json!([1])),
        (
            json!({"items": [{"type": "string"}], "additionalItems": false}),
            json!(["a"]),
            json!(["a", 1]),
        ),
        (
            json!({"properties": {"a": {"minimum": 0, "exclusiveMinimum": true}}}),
            json!({"a": 1}),
            json!({"a": 0}),
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"maximum": 3, "exclusiveMaximum": true}}}),
            json!({"a": 2}),
            json!({"a": 3}),
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "if": {"required": ["a"]}, "then": {"required": ["b"]}}),
            json!({"a": 1, "b": 2}),
            json!({"a": 1}),
        ),
        (
            json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "dependentRequired": {"a": ["b"]}}),
            json!({"b": 1}),
            json!({"a": 1}),
        ),
        (
            json!({"$schema": "https://a.example/own-dialect", "required": ["a"]}),
            json!({"a": 1}),
            json!({}),
        ),
        (
            json!({"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}}, "required": ["v"]}}, "$ref": "#/$defs/n"}),
            json!({"v": 1, "next": {"v": 2}}),
            json!({"v": 1, "next": {}}),
        ),
    ] {
        let compiled = OriginalSchema::compile(&schema).unwrap();
        assert_eq!(compiled.check_arguments(&good), Ok(()), "{schema}");
        assert!(compiled.check_arguments(&bad).is_err(), "{schema}");
    }
}

#[test]
fn violations_have_a_path_and_a_limit() {
    let schema = json!({"properties": {"a": {"items": {"type": "string"}}}});
    let compiled = OriginalSchema::compile(&schema).unwrap();
    let violations = compiled.check_arguments(&json!({"a": [1, 2, 3, 4]})).unwrap_err();
    assert_eq!(violations.matches("/a/").count(), 3, "{violations}");
}

#[test]
fn patterns_take_linear_time_or_are_left_to_the_server() {
    let schema = json!({"properties": {
        "slow": {"pattern": "^(a+)+$"},
        "ahead": {"pattern": "^(?!x)"},
        "back": {"pattern": "(.)\\1"},
        "huge": {"pattern": "((a{1000}){1000}){1000}"},
        "pattern": {"type": "string"},
    }, "patternProperties": {"^(?=x)": {"type": "integer"}}, "additionalProperties": false});
    let compiled = OriginalSchema::compile(&schema).unwrap();
    let arguments = json!({"slow": "a".repeat(50_000) + "b", "ahead": "x", "back": "ab", "huge": "", "pattern": "p", "y": 1});
    let violations = compiled.check_arguments(&arguments).unwrap_err();
    assert!(violations.contains("/slow") && !violations.contains("; "), "{}", violations.len());
}

#[test]
fn invalid_schemas_are_problems_with_a_place() {
    for (schema, text) in [
        (json!({"type": "text"}), "the schema is invalid: /type: "),
        (json!({"properties": {"a": {"type": 3}}}), "the schema is invalid: /properties/a/type: "),
        (json!({"required": "a"}), "the schema is invalid: /required: "),
        (
            json!({"properties": {"a": {"$ref": "https://a.example/"}}}),
            "`https://a.example/` leads outside the schema",
        ),
    ] {
        let problem: SchemaProblem = OriginalSchema::compile(&schema).unwrap_err();
        assert!(problem.to_string().starts_with(text), "{problem}");
    }
}
