//! JSON Schema checks of what an agent is called with, and of what it answers.

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

/// The most violations that are told of at once.
const MAX_VIOLATIONS: usize = 3;

/// Why references are refused: nothing is fetched for a schema.
const LEADS_OUTSIDE: &str = "the target of a `$ref` or `$schema` must be in the schema itself";

/// The types of JSON Schema.
const TYPES: &str = "there are array, boolean, integer, null, number, object and string";

/// Checks the arguments of a call against the parameters of its agent.
///
/// # Errors
/// Up to three violations, each with the path it is at.
pub fn check_arguments(parameters: &Value, arguments: &Map<String, Value>) -> Result<(), String> {
    check_value(parameters, &Value::Object(arguments.clone()))
}

/// The arguments of a call with the `default` of each parameter that it leaves out.
#[must_use]
pub fn fill_arguments(parameters: &Value, mut arguments: Map<String, Value>) -> Map<String, Value> {
    let properties = parameters.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        if let (false, Some(value)) = (arguments.contains_key(name), schema.get("default")) {
            arguments.insert(name.clone(), value.clone());
        }
    }
    arguments
}

/// Checks an answer against the schema that the agent's file has for it.
///
/// # Errors
/// Up to three violations, each with the path it is at.
pub fn check_answer(schema: &Value, answer: &Value) -> Result<(), String> {
    check_value(schema, answer)
}

/// Compiles a schema.
///
/// # Errors
/// Why it is none, with the path of what is wrong in it.
pub(crate) fn compile_schema(schema: &Value) -> Result<Validator, SchemaFault> {
    jsonschema::validator_for(schema).map_err(|error| {
        let pointer = error.instance_path().as_str().to_owned();
        let is_type = pointer.ends_with("/type") && !pointer.ends_with("/properties/type");
        let rule = if matches!(error.kind(), ValidationErrorKind::Referencing(_)) {
            LEADS_OUTSIDE.to_owned()
        } else if is_type {
            format!("{} is not a type: {TYPES}", error.instance())
        } else {
            error.to_string()
        };
        SchemaFault { pointer, rule }
    })
}

/// Why a schema is none, and where in it.
#[derive(Debug)]
pub(crate) struct SchemaFault {
    /// The JSON pointer of what is wrong.
    pub(crate) pointer: String,
    /// What is wrong with it.
    pub(crate) rule: String,
}

/// A schema that cannot be used lets nothing through: the ones of agent files were compiled at the start.
fn check_value(schema: &Value, value: &Value) -> Result<(), String> {
    let validator = compile_schema(schema)
        .map_err(|fault| format!("the schema cannot be used: {}", fault.rule))?;
    let violations: Vec<String> = validator
        .iter_errors(value)
        .take(MAX_VIOLATIONS)
        .map(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            path => format!("{path}: {error}"),
        })
        .collect();
    if violations.is_empty() { Ok(()) } else { Err(violations.join("; ")) }
}
