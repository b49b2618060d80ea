//! Schemas that want to cost time or memory: an error or a small form, in bounded work.

use djinn_schema::{OriginalSchema, SchemaProblem, shown_form};
use serde_json::{Map, Value, json};

use super::providers::broken_rules;

fn nested(levels: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(json!({"type": "string"}), |inner, _| wrap(inner))
}

/// Definitions of which each names the next twice, by a keyword.
fn doubling(levels: usize, keyword: &str) -> Value {
    let definition = |at: usize| match keyword {
        _ if at == levels => json!({"type": "object"}),
        "properties" => {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            json!({"properties": {"a": next, "b": next}})
        }
        _ => {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            // The description keeps the two from being one schema.
            json!({keyword: [next, {"allOf": [next], "description": "b"}]})
        }
    };
    let definitions: Map<String, Value> =
        (0..=levels).map(|at| (format!("d{at}"), definition(at))).collect();
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn deep_wide_and_long_schemas_are_problems() {
    let deep = nested(70, |inner| json!({"not": inner}));
    let data = nested(70, |inner| json!([inner]));
    let wide: Map<String, Value> =
        (0..600).map(|at| (format!("f{at}"), json!({"type": "string"}))).collect();
    let branches: Vec<Value> = (0..600)
        .map(|at| json!({"type": "object", "properties": {format!("f{at}"): {}}}))
        .collect();
    let patterns: Map<String, Value> =
        (0..600).map(|at| (format!("f{at}"), json!({"pattern": format!("a{at}")}))).collect();
    for (schema, problem) in [
        (deep, SchemaProblem::TooDeep),
        (json!({"properties": {"a": {"default": data}}}), SchemaProblem::TooDeep),
        (json!({"properties": wide}), SchemaProblem::TooLarge),
        (json!({"anyOf": branches}), SchemaProblem::TooLarge),
        (json!({"properties": patterns}), SchemaProblem::TooLarge),
        (json!({"description": "a".repeat(1_000_000)}), SchemaProblem::TooLarge),
        (json!({"enum": vec!["abcd"; 250_000]}), SchemaProblem::TooLarge),
        (json!({"allOf": vec![json!({"type": "object"}); 600]}), SchemaProblem::TooLarge),
    ] {
        assert_eq!(shown_form(&schema).unwrap_err(), problem);
    }
}

#[test]
fn schemas_that_double_have_a_small_form() {
    for keyword in ["properties", "allOf", "anyOf", "oneOf"] {
        let schema = doubling(40, keyword);
        match shown_form(&schema) {
            Ok(shown) => assert_eq!(broken_rules(&shown), Vec::<String>::new(), "{keyword}"),
            Err(problem) => assert_eq!(problem, SchemaProblem::TooLarge, "{keyword}"),
        }
    }
}

#[test]
fn schemas_that_name_themselves_have_a_small_form() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"anyOf": [{"$ref": "#"}, {"type": "object"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"additionalProperties": {"$ref": "#"}}),
        json!({"properties": {"a": {"$ref": "#/properties/a"}}}),
        json!({"properties": {"a": {"items": {"$ref": "#/properties/a"}}}}),
        json!({"if": {"$ref": "#"}, "then": {"$ref": "#"}, "else": {"$ref": "#"}}),
        json!({"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}]}}}),
    ] {
        let shown = shown_form(&schema).unwrap();
        assert_eq!(broken_rules(&shown), Vec::<String>::new(), "{schema}");
        let compiled = OriginalSchema::compile(&schema).unwrap();
        // Whether a value fits such a schema is undefined; the check ends.
        let _ = compiled.check_arguments(&json!({"a": {"a": [1]}}));
    }
}

#[test]
fn compiling_a_schema_that_doubles_ends() {
    for keyword in ["properties", "allOf"] {
        let schema = doubling(16, keyword);
        let compiled = OriginalSchema::compile(&schema).unwrap();
        assert_eq!(compiled.check_arguments(&json!({})), Ok(()), "{keyword}");
    }
}
