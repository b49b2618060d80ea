//! The schemas in a file, for the arguments and the answer of an agent.

use djinn_core::language::Language;
use serde_json::{Map, Value, json};

use crate::fields::{Fields, refuse_entry};
use crate::problem::{Fault, quote};
use crate::schema::compile_schema;
use crate::yaml::{Content, KeyEntry};

/// The variables of a prompt in addition to the arguments.
pub const TEMPLATE_VARIABLES: [&str; 5] =
    ["base_prompt", "date", "files", "mode_prompt", "time_zone"];

/// Words with another meaning in templates. `bare` would remove the untrusted frame.
const TEMPLATE_WORDS: [&str; 31] = [
    "and",
    "autoescape",
    "bare",
    "block",
    "break",
    "call",
    "continue",
    "do",
    "elif",
    "else",
    "endfor",
    "endif",
    "extends",
    "false",
    "filter",
    "for",
    "framed",
    "if",
    "import",
    "in",
    "include",
    "is",
    "loop",
    "macro",
    "none",
    "not",
    "or",
    "recursive",
    "self",
    "set",
    "true",
];

/// Returns the parameters of an agent: its own, or the single text `task`.
pub(crate) fn read_parameters(fields: &Fields, language: Language) -> Result<Value, Fault> {
    match fields.find_entry("parameters") {
        Some(entry) => read_own_parameters(entry),
        None => Ok(default_parameters(language)),
    }
}

/// Returns the parameters in a schema of `type: object`.
pub(crate) fn read_own_parameters(entry: &KeyEntry) -> Result<Value, Fault> {
    let schema = read_schema(entry)?;
    let line = |pointer: &str| entry.node.find_line(pointer).unwrap_or(entry.line);
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(Fault::new(line("/type"), "`parameters` must be of `type: object`"));
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        let rule = "`parameters` has no `properties`: each parameter is one of them";
        return Err(Fault::new(entry.line, rule));
    };
    for name in properties.keys() {
        if let Some(rule) = name_fault(name) {
            let pointer = format!("/properties/{}", name.replace('~', "~0").replace('/', "~1"));
            return Err(Fault::new(line(&pointer), rule));
        }
    }
    let required_names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for (nth, name) in required_names.enumerate() {
        let name = name.as_str().unwrap_or_default();
        if !properties.contains_key(name) {
            let rule = format!("`required` names {}, which is not a parameter", quote(name));
            return Err(Fault::new(line(&format!("/required/{nth}")), rule));
        }
    }
    Ok(schema)
}

/// Returns the schema of a key: a mapping with valid JSON Schema.
pub(crate) fn read_schema(entry: &KeyEntry) -> Result<Value, Fault> {
    if !matches!(entry.node.content, Content::Mapping(_)) {
        return Err(refuse_entry(entry, "a JSON Schema as a mapping"));
    }
    let schema = entry.node.to_json();
    match compile_schema(&schema) {
        Ok(_) => Ok(schema),
        Err(fault) => {
            let line = entry.node.find_line(&fault.pointer).unwrap_or(entry.line);
            let rule = format!("`{}` is not a JSON Schema: {}", entry.key, fault.rule);
            Err(Fault::new(line, rule))
        }
    }
}

/// Returns true if the parameter with this name is a required text.
pub(crate) fn is_required_text(parameters: &Value, name: &str) -> bool {
    let required_names = parameters.get("required").and_then(Value::as_array);
    let kind = parameters.get("properties").and_then(|all| all.get(name)?.get("type"));
    kind.and_then(Value::as_str) == Some("string")
        && required_names.is_some_and(|all| all.iter().any(|one| one == name))
}

/// Returns the parameters in a schema.
pub(crate) fn properties_of(parameters: &Value) -> Option<&Map<String, Value>> {
    parameters.get("properties").and_then(Value::as_object)
}

fn name_fault(name: &str) -> Option<String> {
    let is_tail = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_good = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_tail);
    let quoted_name = quote(name);
    if !is_good {
        return Some(format!(
            "{quoted_name} cannot be a parameter: its name is a-z A-Z 0-9 _ with a small letter first"
        ));
    }
    if TEMPLATE_VARIABLES.contains(&name) {
        return Some(format!(
            "{quoted_name} cannot be a parameter: prompts have a {quoted_name} already"
        ));
    }
    let is_word = TEMPLATE_WORDS.contains(&name);
    is_word.then(|| format!("{quoted_name} cannot be a parameter: it is a word of templates"))
}

fn default_parameters(language: Language) -> Value {
    let description = match language {
        Language::En => "What is to be done, with all that is needed to do it.",
        Language::Zh => "要做的事，以及完成它所需的全部信息。",
    };
    json!({
        "type": "object",
        "properties": {"task": {"type": "string", "description": description}},
        "required": ["task"],
        "additionalProperties": false,
    })
}
