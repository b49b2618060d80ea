//! JSON Schema checks of an agent's arguments and of its answer.

use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

/// Maximum violations in one message.
const MAX_VIOLATIONS: usize = 3;

/// Maximum characters of a violated rule in an error for users.
const MAX_RULE: usize = 300;

/// Maximum compiled schemas in a process. Each takes some kilobytes.
const MAX_COMPILED: usize = 128;

/// The schemas compiled last, because each question and each call of an agent is checked.
static COMPILED: Mutex<Vec<(Value, Arc<Validator>)>> = Mutex::new(Vec::new());

/// The error for external references: no schema is fetched.
const LEADS_OUTSIDE: &str = "the target of a `$ref` or `$schema` must be in the schema itself";

/// The types of JSON Schema.
const TYPES: &str = "there are array, boolean, integer, null, number, object and string";

/// Checks the arguments of a call against the parameters of its agent.
///
/// # Errors
/// Returns up to three violations, each with its path.
pub fn check_arguments(parameters: &Value, arguments: &Map<String, Value>) -> Result<(), String> {
    check_value(parameters, &Value::Object(arguments.clone()))
}

/// A violation of an agent's parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterViolation {
    /// The path of the argument, such as `filter.region`; empty for the arguments as a whole.
    pub path: String,
    /// The rest of a sentence about the argument, without its value.
    pub problem: String,
}

/// Returns the first violation of an agent's parameters, if any.
#[must_use]
pub fn find_parameter_violation(
    parameters: &Value,
    arguments: &Map<String, Value>,
) -> Option<ParameterViolation> {
    let arguments = Value::Object(arguments.clone());
    let Ok(validator) = find_validator(parameters) else {
        let problem = "cannot be checked: the schema of the agent cannot be used".to_owned();
        return Some(ParameterViolation { path: String::new(), problem });
    };
    let error = validator.iter_errors(&arguments).next()?;
    let (member, problem) = match error.kind() {
        ValidationErrorKind::Required { property } => {
            (property.as_str().map(str::to_owned), "is missing".to_owned())
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            (unexpected.first().cloned(), "is not an argument".to_owned())
        }
        _ => {
            let rule: String = error.masked().to_string().chars().take(MAX_RULE).collect();
            (None, format!("is not valid: {rule}"))
        }
    };
    let path = error.instance_path().as_str().split('/').skip(1).map(str::to_owned);
    let path: Vec<String> = path.chain(member).collect();
    Some(ParameterViolation { path: path.join("."), problem })
}

/// Returns the arguments of a call, with the `default` of each missing parameter.
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

/// Checks an answer against the schema in the agent's file.
///
/// # Errors
/// Returns up to three violations, each with its path.
pub fn check_answer(schema: &Value, answer: &Value) -> Result<(), String> {
    check_value(schema, answer)
}

/// Returns the compiled schema, from the last ones if it is among them.
fn find_validator(schema: &Value) -> Result<Arc<Validator>, SchemaFault> {
    let lock_compiled = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, validator)) = lock_compiled().iter().find(|(known, _)| known == schema) {
        return Ok(Arc::clone(validator));
    }
    let validator = Arc::new(compile_schema(schema)?);
    let mut compiled = lock_compiled();
    if compiled.len() == MAX_COMPILED {
        compiled.remove(0);
    }
    compiled.push((schema.clone(), Arc::clone(&validator)));
    Ok(validator)
}

/// Compiles a schema.
///
/// # Errors
/// Returns [`SchemaFault`] with the path of the problem if the schema is invalid.
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

/// The reason why a schema is invalid, and its location.
#[derive(Debug)]
pub(crate) struct SchemaFault {
    /// The JSON pointer to the problem.
    pub(crate) pointer: String,
    /// The problem as a sentence.
    pub(crate) rule: String,
}

/// Checks a value. An invalid schema rejects every value; schemas of agent files were compiled at the start.
fn check_value(schema: &Value, value: &Value) -> Result<(), String> {
    let validator = find_validator(schema)
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
