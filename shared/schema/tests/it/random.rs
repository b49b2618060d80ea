//! Schemas by chance: shown forms keep all rules and accept what the original accepts.

use djinn_schema::{OriginalSchema, shown_form};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::providers::broken_rules;
use super::servers::check_samples;

const NAMES: [&str; 6] = ["a", "b", "城市", "x.y", "x_y", "c"];

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!(true)),
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer", "minimum": 0})),
        Just(json!({"type": ["boolean", "null"], "default": null})),
        Just(json!({"enum": ["a", "b"], "description": "Choice"})),
        Just(json!({"enum": [1, "a", null]})),
        Just(json!({"const": "a"})),
        Just(json!({"$ref": "#/$defs/node"})),
        Just(json!({"$ref": "#"})),
        Just(json!({"type": "array"})),
        Just(json!({"type": "object"})),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 40, 4, |inner| {
        let object = prop::collection::vec((prop::sample::select(NAMES.to_vec()), inner.clone(), any::<bool>()), 0..4)
            .prop_map(|fields| object_schema(&fields));
        let few = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => object,
            1 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => few.clone().prop_map(|all| json!({"type": "array", "prefixItems": all, "items": false})),
            1 => few.clone().prop_map(|all| json!({"anyOf": all, "title": "One of these"})),
            1 => few.clone().prop_map(|all| json!({"oneOf": all})),
            1 => few.prop_map(|all| json!({"allOf": all})),
            1 => inner.clone().prop_map(|value| json!({"type": "object", "additionalProperties": value})),
            1 => inner.prop_map(|value| json!({"type": ["object", "string", "null"], "properties": {"a": value}})),
        ]
    })
}

fn object_schema(fields: &[(&str, Value, bool)]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema, _)| ((*name).to_owned(), schema.clone())).collect();
    let mut required: Vec<&str> =
        fields.iter().filter(|(.., required)| *required).map(|(name, ..)| *name).collect();
    required.sort_unstable();
    required.dedup();
    json!({"type": "object", "properties": properties, "required": required})
}

fn root() -> impl Strategy<Value = Value> {
    let object = prop::collection::vec(
        (prop::sample::select(NAMES.to_vec()), schema(), any::<bool>()),
        0..5,
    )
    .prop_map(|fields| object_schema(&fields));
    (object, schema()).prop_map(|(mut root, node)| {
        root["$defs"] = json!({"node": node});
        root
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_shown_form_keeps_the_rules_and_accepts_the_same(original in root()) {
        let shown = shown_form(&original).unwrap();
        prop_assert_eq!(broken_rules(&shown), Vec::<String>::new(), "{} {}", original, shown.schema);
        let again = shown_form(&shown.schema).unwrap();
        prop_assert_eq!(&again.schema, &shown.schema);
        check_samples("random", &original, &shown, 20);
    }

    #[test]
    fn any_json_is_a_form_or_a_problem(text in "[\\[\\]{}:,\"a-z$#/0-9 ]{0,60}", original in schema()) {
        let value: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let mixed = json!({"properties": {"a": value, "b": original}, "allOf": [value], "required": value, "$defs": {"node": {}}});
        if let Ok(shown) = shown_form(&mixed) {
            prop_assert_eq!(broken_rules(&shown), Vec::<String>::new(), "{}", mixed);
        }
        let _ = OriginalSchema::compile(&mixed);
    }
}
