//! The documented rules of each provider, checked on a shown form.

use djinn_schema::ShownSchema;
use serde_json::{Map, Value};

/// One schema within a shown form.
struct Node<'a> {
    map: &'a Map<String, Value>,
    pointer: String,
    /// Levels of schemas, the root's is 1.
    depth: usize,
    /// Levels of objects, this one included.
    objects: usize,
}

struct Rule {
    provider: &'static str,
    /// The page that documents the rule, or the error of the provider that tells it.
    source: &'static str,
    holds: fn(&Node<'_>) -> bool,
}

const OPENAI_ERRORS: &str = "errors `array schema missing items`, `object schema missing properties`, and `schema must \
    have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level`";
const OPENAI_STRICT: &str =
    "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas";
const ANTHROPIC: &str = "https://platform.claude.com/docs/en/managed-agents/self-hosted-sandboxes, and the error \
    `input_schema does not support oneOf, allOf, or anyOf at the top level`";
const GEMINI: &str = "https://ai.google.dev/api/caching#Schema and #FunctionDeclaration";
const GEMINI_ERRORS: &str = "errors `items: missing field`, `enum: only allowed for STRING type`, `enum[0]: cannot be \
    empty`, `required[0]: property is not defined`, `properties: only allowed for OBJECT type`, and `When using any_of, \
    it must be the only field set`";
const BEDROCK: &str = "https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html: three fields at the top level";

const RULES: [Rule; 16] = [
    Rule {
        provider: "OpenAI",
        source: OPENAI_ERRORS,
        holds: |node| {
            !is_root(node)
                || (has_type(node, "object")
                    && !has_any(node, &["oneOf", "anyOf", "allOf", "enum", "not"]))
        },
    },
    Rule {
        provider: "OpenAI",
        source: OPENAI_ERRORS,
        holds: |node| !has_type(node, "array") || node.map.contains_key("items"),
    },
    Rule {
        provider: "OpenAI",
        source: OPENAI_ERRORS,
        holds: |node| !has_type(node, "object") || node.map["properties"].is_object(),
    },
    Rule {
        provider: "OpenAI strict",
        source: OPENAI_STRICT,
        holds: |node| {
            has_only(
                node,
                &[
                    "type",
                    "properties",
                    "required",
                    "additionalProperties",
                    "items",
                    "enum",
                    "anyOf",
                    "description",
                ],
            )
        },
    },
    Rule { provider: "OpenAI strict", source: OPENAI_STRICT, holds: |node| node.objects <= 10 },
    Rule {
        provider: "OpenAI strict",
        source: OPENAI_STRICT,
        holds: |node| {
            let values = node.map.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
            values <= 250
        },
    },
    Rule {
        provider: "Anthropic",
        source: ANTHROPIC,
        holds: |node| !has_any(node, &["$ref", "$defs", "definitions"]),
    },
    Rule {
        provider: "Anthropic",
        source: ANTHROPIC,
        holds: |node| !is_root(node) || !has_any(node, &["oneOf", "anyOf", "allOf"]),
    },
    Rule {
        provider: "Anthropic",
        source: ANTHROPIC,
        holds: |node| {
            properties(node).all(|name| {
                (1..=64).contains(&name.len())
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
            })
        },
    },
    Rule {
        provider: "Gemini",
        source: GEMINI,
        holds: |node| {
            has_only(
                node,
                &[
                    "type",
                    "format",
                    "title",
                    "description",
                    "enum",
                    "items",
                    "prefixItems",
                    "minItems",
                    "maxItems",
                    "minimum",
                    "maximum",
                    "anyOf",
                    "properties",
                    "additionalProperties",
                    "required",
                ],
            )
        },
    },
    Rule {
        provider: "Gemini",
        source: GEMINI,
        holds: |node| node.map.get("type").is_none_or(Value::is_string),
    },
    Rule {
        provider: "Gemini",
        source: GEMINI,
        holds: |node| {
            properties(node).all(|name| {
                name.len() <= 64
                    && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        },
    },
    Rule {
        provider: "Gemini",
        source: GEMINI_ERRORS,
        holds: |node| {
            let Some(values) = node.map.get("enum") else { return true };
            let values = values.as_array().unwrap();
            has_type(node, "string")
                && !values.is_empty()
                && values.iter().all(|value| value.as_str().is_some_and(|text| !text.is_empty()))
        },
    },
    Rule {
        provider: "Gemini",
        source: GEMINI_ERRORS,
        holds: |node| {
            let required = node.map.get("required").and_then(Value::as_array);
            required
                .into_iter()
                .flatten()
                .all(|name| node.map["properties"].get(name.as_str().unwrap()).is_some())
        },
    },
    Rule {
        provider: "Gemini",
        source: GEMINI_ERRORS,
        holds: |node| {
            let of_objects = has_any(node, &["properties", "required", "additionalProperties"]);
            (has_type(node, "object") || !of_objects)
                && (has_type(node, "array") || !node.map.contains_key("items"))
                && (!node.map.contains_key("anyOf") || node.map.len() == 1)
        },
    },
    Rule {
        provider: "Bedrock",
        source: BEDROCK,
        holds: |node| !is_root(node) || has_only(node, &["type", "properties", "required"]),
    },
];

fn is_root(node: &Node<'_>) -> bool {
    node.pointer.is_empty()
}

fn has_type(node: &Node<'_>, name: &str) -> bool {
    node.map.get("type").is_some_and(|value| value == name)
}

fn has_any(node: &Node<'_>, keys: &[&str]) -> bool {
    keys.iter().any(|key| node.map.contains_key(*key))
}

fn has_only(node: &Node<'_>, keys: &[&str]) -> bool {
    node.map.keys().all(|key| keys.contains(&key.as_str()))
}

fn properties<'a>(node: &Node<'a>) -> impl Iterator<Item = &'a String> {
    node.map.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys)
}

/// Returns the broken rules of a shown form: the providers' and our own.
pub(super) fn broken_rules(shown: &ShownSchema) -> Vec<String> {
    let mut complaints = Vec::new();
    let nodes = nodes(&shown.schema, &mut complaints);
    for node in &nodes {
        for (at, rule) in RULES.iter().enumerate().filter(|(_, rule)| !(rule.holds)(node)) {
            complaints.push(format!(
                "`{}`: rule {at} of {}: {}",
                node.pointer, rule.provider, rule.source
            ));
        }
        let text = node.map.get("description").map(|text| text.as_str().unwrap());
        if text.is_some_and(|text| {
            text.is_empty() || text.chars().count() > 1_000 || text.contains('\u{200b}')
        }) {
            complaints.push(format!("`{}`: description {text:?}", node.pointer));
        }
        if node.depth > 12 {
            complaints.push(format!("`{}` is too deep", node.pointer));
        }
    }
    let all_values = nodes
        .iter()
        .filter_map(|node| node.map.get("enum")?.as_array())
        .map(Vec::len)
        .sum::<usize>();
    let bytes = shown.schema.to_string().len();
    if nodes.len() > 500
        || bytes > 32 * 1024
        || all_values > 1_000
        || shown.note.chars().count() > 600
    {
        complaints.push(format!("{} schemas, {bytes} bytes, {all_values} values", nodes.len()));
    }
    complaints
}

fn nodes<'a>(schema: &'a Value, complaints: &mut Vec<String>) -> Vec<Node<'a>> {
    let mut pending = vec![(schema, String::new(), 1, 0)];
    let mut nodes = Vec::new();
    while let Some((schema, pointer, depth, objects)) = pending.pop() {
        let Value::Object(map) = schema else {
            complaints.push(format!("`{pointer}` is no object: {schema}"));
            continue;
        };
        let objects = objects + usize::from(map.get("type").is_some_and(|kind| kind == "object"));
        for key in ["items", "additionalProperties"] {
            pending.extend(
                map.get(key).map(|inner| (inner, format!("{pointer}/{key}"), depth + 1, objects)),
            );
        }
        let branches = map.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        pending.extend(
            branches
                .enumerate()
                .map(|(at, inner)| (inner, format!("{pointer}/anyOf/{at}"), depth + 1, objects)),
        );
        let fields = map.get("properties").and_then(Value::as_object).into_iter().flatten();
        pending.extend(fields.map(|(name, inner)| {
            (inner, format!("{pointer}/properties/{name}"), depth + 1, objects)
        }));
        nodes.push(Node { map, pointer, depth, objects });
    }
    nodes
}

#[test]
fn broken_rules_are_noticed() {
    let shown = |schema: Value| -> ShownSchema {
        serde_json::from_value(serde_json::json!({"schema": schema})).unwrap()
    };
    let field = |schema: Value| serde_json::json!({"type": "object", "properties": {"a": schema}});
    use serde_json::json;
    assert_eq!(broken_rules(&shown(field(json!({"type": "string"})))), Vec::<String>::new());
    for (schema, provider) in [
        (json!({"type": "object", "properties": {}, "anyOf": []}), "OpenAI"),
        (
            json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
            "Bedrock",
        ),
        (json!({"type": "object", "properties": {}, "required": ["b"]}), "Gemini"),
        (json!({"type": "object", "properties": {"a.b": {}}}), "Gemini"),
        (json!({"type": "object", "properties": {"a b": {}}}), "Anthropic"),
        (field(json!({"type": "array"})), "OpenAI"),
        (field(json!({"$ref": "#"})), "Anthropic"),
        (field(json!({"type": "string", "default": ""})), "Gemini"),
        (field(json!({"type": ["string", "null"]})), "Gemini"),
        (field(json!({"type": "integer", "enum": [1]})), "Gemini"),
        (field(json!({"type": "string", "enum": [""]})), "Gemini"),
        (field(json!({"anyOf": [{"type": "string"}], "description": "A"})), "Gemini"),
        (field(json!({"type": "string", "properties": {}})), "Gemini"),
        (field(json!({"type": "string", "minLength": 1})), "OpenAI strict"),
        (field(json!(true)), "is no object"),
        (field(json!({"type": "string", "description": "a".repeat(1_001)})), "description"),
    ] {
        let broken = broken_rules(&shown(schema.clone()));
        assert!(broken.iter().any(|rule| rule.contains(provider)), "{schema}: {broken:?}");
    }
}
