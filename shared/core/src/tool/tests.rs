use super::*;
use crate::estimate::Estimate;
use serde_json::json;

#[test]
fn a_call_is_made_as_people_were_told_of_it() {
    let spec = ToolSpec {
        name: "look".to_owned(),
        description: String::new(),
        schema: json!({}),
        effect: EffectClass::Read,
        policy: ToolPolicy::default(),
        timeout_ms: 0,
        visible: false,
    };
    let now = spec.to_offered();
    let offered = spec.to_offered();
    let hash = offered.schema_hash.as_str();
    assert!(now.is_callable_as(hash, offered.effect, &offered.policy));
    let dearer = Estimate { tokens: 5, ..Estimate::default() };
    let dearer = ToolPolicy { estimate: dearer, ..ToolPolicy::default() };
    assert!(now.is_callable_as(hash, offered.effect, &dearer));
    let sends_out = ToolPolicy { sends_out: true, ..ToolPolicy::default() };
    assert!(!now.is_callable_as(hash, offered.effect, &sends_out));
    let defined = ToolPolicy { definition: Some("b".to_owned()), ..ToolPolicy::default() };
    assert!(!now.is_callable_as(hash, offered.effect, &defined));
    assert!(!now.is_callable_as("other", offered.effect, &offered.policy));
    assert!(!now.is_callable_as(hash, EffectClass::Once, &offered.policy));
}

#[test]
fn canonical_json_ignores_the_order_of_keys_and_nothing_else() {
    let a = json!({"b": [1, {"d": 1, "c": "x\"y"}], "a": null});
    let b = json!({"a": null, "b": [1, {"c": "x\"y", "d": 1}]});
    assert_eq!(canonical_json(&a), canonical_json(&b));
    assert_eq!(canonical_json(&a), r#"{"a":null,"b":[1,{"c":"x\"y","d":1}]}"#);
    assert_ne!(
        canonical_json(&a),
        canonical_json(&json!({"a": null, "b": [{"c": "x\"y", "d": 1}, 1]}))
    );
}
