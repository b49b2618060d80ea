//! Reads a JSON object field by field, so that every error names its place.

use djinn_settings::{Setting, ValueKind};
use serde_json::{Map, Value};

use super::SettingsError;

/// The unread fields of an object.
pub(super) struct ObjectReader {
    path: String,
    members: Map<String, Value>,
    known_keys: Vec<&'static str>,
}

impl SettingsError {
    pub(crate) fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }

    pub(super) fn wrong_value(path: impl Into<String>, expectation: &str, value: &Value) -> Self {
        Self::new(path, format!("must be {expectation}, got `{}`", display_value(value)))
    }
}

impl ObjectReader {
    pub(super) fn new(path: &str, value: Value) -> Result<Self, SettingsError> {
        let Value::Object(members) = value else {
            return Err(SettingsError::wrong_value(path, "an object", &value));
        };
        Ok(Self { path: path.to_owned(), members, known_keys: Vec::new() })
    }

    pub(super) fn path_of(&self, row: &Setting) -> String {
        join_path(&self.path, row.name)
    }

    /// Takes the value of a field, of any type.
    pub(super) fn take(&mut self, row: &Setting) -> Option<Value> {
        self.known_keys.push(row.name);
        self.members.remove(row.name)
    }

    pub(super) fn take_text(&mut self, row: &Setting) -> Result<Option<String>, SettingsError> {
        match self.take(row) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => {
                Ok(Some(text.trim().to_owned()))
            }
            Some(other) => Err(SettingsError::wrong_value(self.path_of(row), "a text", &other)),
        }
    }

    pub(super) fn take_bool(&mut self, row: &Setting) -> Result<Option<bool>, SettingsError> {
        match self.take(row) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => {
                Err(SettingsError::wrong_value(self.path_of(row), &row.kind.to_string(), &other))
            }
        }
    }

    /// Takes a whole number within the limits of its row.
    pub(super) fn take_integer(&mut self, row: &Setting) -> Result<Option<u64>, SettingsError> {
        let Some(value) = self.take(row) else {
            return Ok(None);
        };
        let wrong =
            |expectation: &str| SettingsError::wrong_value(self.path_of(row), expectation, &value);
        match (value.as_u64(), row.kind) {
            (Some(number), ValueKind::Number { least, most })
                if number < least || number > most =>
            {
                Err(wrong(&format!("between {least} and {most}")))
            }
            (Some(number), _) => Ok(Some(number)),
            (None, _) => Err(wrong("a whole number")),
        }
    }

    pub(super) fn take_object(
        &mut self,
        row: &Setting,
    ) -> Result<Option<Map<String, Value>>, SettingsError> {
        match self.take(row) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(other) => Err(SettingsError::wrong_value(self.path_of(row), "an object", &other)),
        }
    }

    /// Returns an error if an unread field is left.
    pub(super) fn reject_unknown(self) -> Result<(), SettingsError> {
        match self.members.keys().next() {
            None => Ok(()),
            Some(key) => Err(SettingsError::new(
                join_path(&self.path, key),
                format!("is not a setting; there are {}", self.known_keys.join(", ")),
            )),
        }
    }
}

fn join_path(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Returns a value for errors: texts without quotes, all values cut to 40 characters.
fn display_value(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    };
    djinn_runtime::prompt::truncate_text(&text, 40)
}
