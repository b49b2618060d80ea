//! JSON Schema checks of a tool's arguments, made before the tool is called.

use jsonschema::Validator;
use serde_json::{Map, Value};

/// The schema is compiled once; one that could not be compiled accepts all arguments.
pub struct ArgumentSchema(Option<Validator>);

impl ArgumentSchema {
    /// Compiles a schema. One that is none accepts everything; the tests of a tool compile its own.
    #[must_use]
    pub fn new(schema: &Value) -> Self {
        Self(jsonschema::validator_for(schema).ok())
    }

    /// Whether the schema could be compiled.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.is_some()
    }

    /// Checks arguments.
    ///
    /// # Errors
    /// Up to three violations, each with the path it is at.
    pub fn check_arguments(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let Some(validator) = &self.0 else { return Ok(()) };
        let value = Value::Object(arguments.clone());
        let violations: Vec<String> = validator
            .iter_errors(&value)
            .take(3)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                path => format!("{path}: {error}"),
            })
            .collect();
        if violations.is_empty() { Ok(()) } else { Err(violations.join("; ")) }
    }
}
