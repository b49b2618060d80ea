//! Reading a JSON object member by member, so that every complaint names its place.

use serde_json::{Map, Value};

use super::SettingsError;

/// The members of one object that were not read yet.
pub(super) struct ObjectReader {
    path: String,
    members: Map<String, Value>,
    known_keys: Vec<&'static str>,
}

impl SettingsError {
    pub(crate) fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }

    pub(super) fn wrong_value(path: impl Into<String>, expected: &str, got: &Value) -> Self {
        Self::new(path, format!("must be {expected}, got `{}`", display_value(got)))
    }
}

impl ObjectReader {
    pub(super) fn new(path: &str, value: Value) -> Result<Self, SettingsError> {
        let Value::Object(members) = value else {
            return Err(SettingsError::wrong_value(path, "an object", &value));
        };
        Ok(Self { path: path.to_owned(), members, known_keys: Vec::new() })
    }

    pub(super) fn path_of(&self, key: &str) -> String {
        join_path(&self.path, key)
    }

    /// The value of a member, whatever it is.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known_keys.push(key);
        self.members.remove(key)
    }

    pub(super) fn take_text(&mut self, key: &'static str) -> Result<Option<String>, SettingsError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => {
                Ok(Some(text.trim().to_owned()))
            }
            Some(other) => Err(SettingsError::wrong_value(self.path_of(key), "a text", &other)),
        }
    }

    /// A whole number within `from..=to`.
    pub(super) fn take_integer(
        &mut self,
        key: &'static str,
        from: u64,
        to: u64,
    ) -> Result<Option<u64>, SettingsError> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        match value.as_u64() {
            Some(number) if (from..=to).contains(&number) => Ok(Some(number)),
            Some(_) => Err(SettingsError::wrong_value(
                self.path_of(key),
                &format!("between {from} and {to}"),
                &value,
            )),
            None => Err(SettingsError::wrong_value(self.path_of(key), "a whole number", &value)),
        }
    }

    pub(super) fn take_object(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Map<String, Value>>, SettingsError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(other) => Err(SettingsError::wrong_value(self.path_of(key), "an object", &other)),
        }
    }

    /// Refuses whatever was not read.
    pub(super) fn reject_unknown(self) -> Result<(), SettingsError> {
        match self.members.keys().next() {
            None => Ok(()),
            Some(key) => Err(SettingsError::new(
                join_path(&self.path, key),
                format!("is no setting; there are {}", self.known_keys.join(", ")),
            )),
        }
    }
}

fn join_path(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A value as complaints show it: texts without quotes, everything cut to 40 characters.
fn display_value(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    };
    djinn_runtime::prompt::truncate_text(&text, 40)
}
