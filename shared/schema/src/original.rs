//! A schema as its author wrote it, for the check of arguments.

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value};

use crate::problem::SchemaProblem;
use crate::survey::{Survey, ValueRole};

/// Maximum bytes of one compiled regular expression.
const MAX_PATTERN: usize = 1024 * 1024;

/// Maximum violations in one message.
const MAX_VIOLATIONS: usize = 3;

/// The drafts of a schema without `$schema`, in this order: MCP's default, then the drafts that generators write.
const DRAFTS: [Draft; 3] = [Draft::Draft202012, Draft::Draft7, Draft::Draft4];

/// A compiled schema of drafts 4 to 2020-12.
///
/// Patterns take linear time. A pattern that needs more, with look-around or back-references, is left to the server.
#[derive(Debug)]
pub struct OriginalSchema(Validator);

impl OriginalSchema {
    /// Compiles a schema. No schema is fetched.
    ///
    /// # Errors
    /// Returns [`SchemaProblem`] for a schema that is invalid, too large, or leads outside.
    pub fn compile(schema: &Value) -> Result<Self, SchemaProblem> {
        Survey::new(schema)?;
        let schema = without_foreign_patterns(schema);
        let is_known = schema.get("$schema").and_then(Value::as_str).is_some_and(|dialect| {
            dialect.starts_with("http://json-schema.org/")
                || dialect.starts_with("https://json-schema.org/")
        });
        if is_known {
            return compile_draft(&schema, None);
        }
        let schema = without_dialect(schema);
        let mut first_problem = None;
        for draft in DRAFTS {
            match compile_draft(&schema, Some(draft)) {
                Ok(compiled) => return Ok(compiled),
                Err(problem) => {
                    first_problem.get_or_insert(problem);
                }
            }
        }
        Err(first_problem.unwrap_or(SchemaProblem::NotAnObject))
    }

    /// Checks arguments with their original names.
    ///
    /// # Errors
    /// Returns up to three violations, each with its path.
    pub fn check_arguments(&self, arguments: &Value) -> Result<(), String> {
        let violations: Vec<String> = self
            .0
            .iter_errors(arguments)
            .take(MAX_VIOLATIONS)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                path => format!("{path}: {error}"),
            })
            .collect();
        if violations.is_empty() { Ok(()) } else { Err(violations.join("; ")) }
    }
}

fn compile_draft(schema: &Value, draft: Option<Draft>) -> Result<OriginalSchema, SchemaProblem> {
    let mut options = jsonschema::options().with_pattern_options(pattern_options());
    if let Some(draft) = draft {
        options = options.with_draft(draft);
    }
    options
        .build(schema)
        .map(OriginalSchema)
        .map_err(|error| SchemaProblem::invalid(error.instance_path().as_str(), &error.to_string()))
}

fn pattern_options() -> PatternOptions<jsonschema::Regex> {
    PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN)
}

fn without_dialect(mut schema: Value) -> Value {
    if let Some(map) = schema.as_object_mut() {
        map.remove("$schema");
    }
    schema
}

/// Returns the schema without the patterns that need more than linear time.
fn without_foreign_patterns(schema: &Value) -> Value {
    copy_value(schema, ValueRole::Schema)
}

fn copy_value(value: &Value, role: ValueRole) -> Value {
    match value {
        Value::Object(map) => {
            let mut copy: Map<String, Value> = map
                .iter()
                .filter(|(key, field)| {
                    let pattern = field.as_str().filter(|_| *key == "pattern");
                    role != ValueRole::Schema || pattern.is_none_or(is_linear)
                })
                .map(|(key, field)| (key.clone(), copy_value(field, role.of_field(key))))
                .collect();
            let keyed = map.get("patternProperties").and_then(Value::as_object);
            let is_foreign = keyed.is_some_and(|keyed| !keyed.keys().all(|key| is_linear(key)));
            if role == ValueRole::Schema && is_foreign {
                // Without its patterns, an object cannot tell its other fields.
                for key in ["patternProperties", "additionalProperties", "unevaluatedProperties"] {
                    copy.remove(key);
                }
            }
            Value::Object(copy)
        }
        Value::Array(items) => items.iter().map(|item| copy_value(item, role)).collect(),
        other => other.clone(),
    }
}

fn is_linear(pattern: &str) -> bool {
    let schema = Map::from_iter([("pattern".to_owned(), Value::from(pattern))]);
    jsonschema::options()
        .with_pattern_options(pattern_options())
        .build(&Value::Object(schema))
        .is_ok()
}
