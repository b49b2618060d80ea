//! Schemas and their shown forms, one oddity a row.

use djinn_schema::{SchemaProblem, clean_description, shown_form};
use serde_json::{Value, json};

use super::providers::broken_rules;

/// The shown form of one field of an object.
fn shown_field(definitions: &Value, schema: &Value) -> Value {
    let original = json!({"type": "object", "properties": {"a": schema}, "$defs": definitions});
    let shown = shown_form(&original).unwrap();
    assert_eq!(broken_rules(&shown), Vec::<String>::new(), "{}", shown.schema);
    shown.schema["properties"]["a"].clone()
}

#[test]
fn fields_are_shown_with_the_keywords_that_all_providers_accept() {
    let definitions = json!({
        "color": {"type": "string", "enum": ["red", "blue"]},
        "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]},
        "json": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/json"}}]},
    });
    let string = json!({"type": "string"});
    for (schema, expected) in [
        (json!({"type": "string", "title": "A"}), string.clone()),
        (
            json!({"type": "string", "title": "First day"}),
            json!({"type": "string", "description": "First day"}),
        ),
        (
            json!({"type": "string", "examples": ["x"], "x-order": 1, "$comment": "c"}),
            string.clone(),
        ),
        (json!({"type": "string", "nullable": true}), string),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 9_007_199_254_740_991_i64, "default": 5, "description": "Size"}),
            json!({"type": "integer", "description": "Size (minimum: 1; default: 5)"}),
        ),
        (
            json!({"type": "string", "format": "uri"}),
            json!({"type": "string", "description": "(format: uri)"}),
        ),
        (
            json!({"type": ["string", "null"]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "description": "Name"}),
            json!({"anyOf": [{"type": "string", "description": "Name"}, {"type": "null"}]}),
        ),
        (json!({"const": "a"}), json!({"type": "string", "enum": ["a"]})),
        (json!({"const": 2}), json!({"type": "integer", "description": "(enum: 2)"})),
        (
            json!({"type": "number", "enum": [0, 1]}),
            json!({"type": "integer", "description": "(enum: 0, 1)"}),
        ),
        (
            json!({"enum": ["a", null]}),
            json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        ),
        (
            json!({"enum": ["a", ""]}),
            json!({"type": "string", "description": "(enum: \"a\", \"\")"}),
        ),
        (
            json!({"oneOf": [{"const": "a"}, {"const": "b"}]}),
            json!({"type": "string", "enum": ["a", "b"]}),
        ),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "string", "format": "date"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "string", "description": "(format: date)"}]}),
        ),
        (json!(true), json!({})),
        (json!({}), json!({})),
        (json!({"description": "Anything"}), json!({"description": "Anything"})),
        (json!({"type": "array"}), json!({"type": "array", "items": {}})),
        (json!({"type": "array", "items": true}), json!({"type": "array", "items": {}})),
        (
            json!({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "maxItems": 2}),
            json!({"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "string"}]},
            "description": "(maxItems: 2; prefixItems: [{\"type\":\"number\"},{\"type\":\"string\"}])"}),
        ),
        (
            json!({"type": "array", "items": [{"type": "number"}, {"type": "number"}], "additionalItems": false}),
            json!({"type": "array", "items": {"type": "number"}}),
        ),
        (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
        (
            json!({"type": "object", "additionalProperties": {}}),
            json!({"type": "object", "properties": {}}),
        ),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({"type": "object", "properties": {}}),
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
        ),
        (
            json!({"required": ["b"]}),
            json!({"type": "object", "properties": {"b": {}}, "required": ["b"]}),
        ),
        (
            json!({"$ref": "#/$defs/color", "description": "Ink"}),
            json!({"type": "string", "enum": ["red", "blue"], "description": "Ink"}),
        ),
        (
            json!({"$ref": "#/$defs/node"}),
            json!({"type": "object", "properties": {"next": {"type": "object", "properties": {}}}, "required": ["next"]}),
        ),
        (
            json!({"$ref": "#/$defs/json"}),
            json!({"anyOf": [{"type": "string"},
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}}]}),
        ),
        (
            json!({"allOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
                          {"properties": {"c": {"type": "boolean"}, "b": {"description": "B"}}}]}),
            json!({"type": "object", "properties": {"b": {"type": "string", "description": "B"}, "c": {"type": "boolean"}},
            "required": ["b"]}),
        ),
        (
            json!({"type": "string", "anyOf": [{"enum": ["a"]}, {"enum": ["b"]}]}),
            json!({"type": "string", "enum": ["a", "b"]}),
        ),
        (
            json!({"type": "object", "properties": {"a.b": {"type": "string", "description": "Dot"}}, "required": ["a.b"]}),
            json!({"type": "object", "properties": {"a_b": {"type": "string", "description": "(name: a.b) Dot"}}, "required": ["a_b"]}),
        ),
    ] {
        assert_eq!(shown_field(&definitions, &schema), expected, "{schema}");
    }
}

#[test]
fn choices_of_the_root_become_fields_and_a_note() {
    for (original, schema, note) in [
        (
            json!({"oneOf": [
                {"type": "object", "properties": {"op": {"const": "read"}, "path": {"type": "string"}}, "required": ["op", "path"]},
                {"type": "object", "properties": {"op": {"const": "sync"}}, "required": ["op"]},
            ]}),
            json!({"type": "object", "properties": {
                "op": {"type": "string", "enum": ["read", "sync"]}, "path": {"type": "string"}}, "required": ["op"]}),
            "oneOf: [op=\"read\", required: op, path] | [op=\"sync\", required: op]",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
            "anyOf: [required: a] | [required: b]",
        ),
        (
            json!({"type": "object", "properties": {"all": {"type": "boolean"}}, "if": {"properties": {"all": {"const": false}}},
                "then": {"properties": {"id": {"type": "string"}}, "required": ["id"]}}),
            json!({"type": "object", "properties": {"all": {"type": "boolean"}, "id": {"type": "string"}}}),
            "then | else: [required: id] | []",
        ),
        (
            json!({"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "null"}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            "",
        ),
        (
            json!({"$ref": "#/$defs/arguments", "$defs": {"arguments": {"type": "object", "properties": {"a": {"$ref": "#"}}}}}),
            json!({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}),
            "",
        ),
        (
            json!({"type": "object", "description": "All of it", "additionalProperties": {"type": "string"}, "minProperties": 1}),
            json!({"type": "object", "properties": {}}),
            "minProperties: 1",
        ),
        (json!({}), json!({"type": "object", "properties": {}}), ""),
    ] {
        let shown = shown_form(&original).unwrap();
        assert_eq!((&shown.schema, shown.note.as_str()), (&schema, note), "{original}");
        assert_eq!(broken_rules(&shown), Vec::<String>::new(), "{original}");
    }
}

#[test]
fn schemas_that_no_tool_can_have_are_problems() {
    let remote = |text: &str| SchemaProblem::RemoteReference(text.to_owned());
    for (original, problem) in [
        (json!({"type": "array"}), SchemaProblem::NotAnObject),
        (json!(false), SchemaProblem::NotAnObject),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), SchemaProblem::NotAnObject),
        (
            json!({"properties": {"a": {"$ref": "https://a.example/s.json"}}}),
            remote("https://a.example/s.json"),
        ),
        (json!({"$defs": {"unused": {"$ref": "other.json#/a"}}}), remote("other.json#/a")),
        (json!({"$dynamicRef": "file:///etc/passwd"}), remote("file:///etc/passwd")),
        (json!({"$ref": "#/$defs/none"}), SchemaProblem::MissingTarget("#/$defs/none".to_owned())),
        (json!({"$ref": "#none"}), SchemaProblem::MissingTarget("#none".to_owned())),
        (json!([]), SchemaProblem::Invalid("the root: a schema must be an object".to_owned())),
        (
            json!({"properties": {"a": 3}}),
            SchemaProblem::Invalid("the root: a schema must be an object".to_owned()),
        ),
    ] {
        assert_eq!(shown_form(&original).unwrap_err(), problem, "{original}");
    }
    let data =
        json!({"properties": {"$ref": {"const": {"$ref": "x.json"}}}, "default": {"$ref": "y"}});
    assert!(shown_form(&data).is_ok());
}

#[test]
fn arguments_get_their_original_names() {
    let original = json!({"type": "object", "properties": {
        "城市": {"type": "string"},
        "filter": {"anyOf": [{"type": "array", "items": {"type": "object", "properties": {"a.b": {}}}}, {"type": "null"}]},
        "others": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x-y": {"type": "string"}}}},
    }});
    let shown = shown_form(&original).unwrap();
    let fields: Vec<&String> = shown.schema["properties"].as_object().unwrap().keys().collect();
    let city = fields[0];
    assert!(city.is_ascii() && city != "城市", "{city}");
    let arguments = json!({city: "Ulm", "filter": [{"a_b": {"a_b": 1}}], "others": {"a_b": {"x_y": "z"}}, "a_b": 2});
    let restored = json!({"城市": "Ulm", "filter": [{"a.b": {"a_b": 1}}], "others": {"a_b": {"x-y": "z"}}, "a_b": 2});
    assert_eq!(shown.restore(&arguments), restored);
    assert_eq!(shown.restore(&json!([1])), json!([1]));
}

#[test]
fn large_schemas_lose_their_depth_before_they_are_rejected() {
    let leaf: Value = (0..20)
        .map(|at| (format!("f{at}"), json!({"type": "string"})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let middle: Value = (0..30)
        .map(|at| (format!("g{at}"), json!({"type": "object", "properties": leaf})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let shown = shown_form(&json!({"type": "object", "properties": middle})).unwrap();
    assert_eq!(broken_rules(&shown), Vec::<String>::new());
    assert_eq!(shown.schema["properties"]["g0"], json!({"type": "object", "properties": {}}));
    let long: Value = (0..90)
        .map(|at| (format!("f{at}"), json!({"type": "string", "description": "word ".repeat(300)})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let shown = shown_form(&json!({"type": "object", "properties": long})).unwrap();
    assert_eq!(broken_rules(&shown), Vec::<String>::new());
}

#[test]
fn descriptions_have_no_invisible_characters_and_a_length() {
    assert_eq!(clean_description(" a\u{200b}b\u{e0041}\u{202e}c\n "), "abc");
    let long = clean_description(&"é".repeat(2_000));
    assert_eq!(long.chars().count(), 1_000);
    assert!(long.ends_with('…'));
    let hidden = json!({"enum": ["a\u{200b}"], "description": "x\u{feff}y"});
    let shown = shown_field(&json!({}), &hidden);
    assert_eq!(shown, json!({"type": "string", "description": "xy (enum: \"a\")"}));
}

#[test]
fn a_branch_that_equals_another_with_the_text_of_the_whole_is_shown_once() {
    let branches = json!([{"type": "string"}, {"type": "null"}, {"$ref": "#/$defs/name"}]);
    let definitions = json!({"name": {"type": "string", "description": "A name."}});
    let shown = shown_field(&definitions, &json!({"anyOf": branches, "description": "A name."}));
    let expected =
        json!({"anyOf": [{"type": "string", "description": "A name."}, {"type": "null"}]});
    assert_eq!(shown, expected);
}
