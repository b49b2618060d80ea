//! JSON Schema checks of a tool's arguments, made before the tool is called.

use jsonschema::Validator;
use serde_json::{Map, Value};

/// A compiled schema; a schema that fails to compile accepts all arguments.
pub struct ArgumentSchema(Option<Validator>);

impl ArgumentSchema {
    /// Compiles a schema. An invalid schema accepts all arguments; each tool's tests compile its own schema.
    #[must_use]
    pub fn new(schema: &Value) -> Self {
        Self(jsonschema::validator_for(schema).ok())
    }

    /// Returns true if the schema was compiled.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.0.is_some()
    }

    /// Checks arguments against the schema.
    ///
    /// # Errors
    /// Returns up to three violations, each with its path.
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
