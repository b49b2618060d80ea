//! Reading a JSON object member by member, so that every complaint names its place.

use serde_json::{Map, Value};

use super::SettingsError;

/// The members of one object that were not read yet.
pub(super) struct Fields {
    path: String,
    members: Map<String, Value>,
    known: Vec<&'static str>,
}

impl SettingsError {
    pub(crate) fn new(path: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }

    pub(super) fn wrong(path: impl Into<String>, expected: &str, got: &Value) -> Self {
        Self::new(path, format!("must be {expected}, got `{}`", shown(got)))
    }
}

impl Fields {
    pub(super) fn new(path: &str, value: Value) -> Result<Self, SettingsError> {
        let Value::Object(members) = value else {
            return Err(SettingsError::wrong(path, "an object", &value));
        };
        Ok(Self { path: path.to_owned(), members, known: Vec::new() })
    }

    pub(super) fn path(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// The value of a member, whatever it is.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.members.remove(key)
    }

    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<String>, SettingsError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) if !text.trim().is_empty() => {
                Ok(Some(text.trim().to_owned()))
            }
            Some(other) => Err(SettingsError::wrong(self.path(key), "a text", &other)),
        }
    }

    /// A whole number within `from..=to`.
    pub(super) fn whole(
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
            Some(_) => Err(SettingsError::wrong(
                self.path(key),
                &format!("between {from} and {to}"),
                &value,
            )),
            None => Err(SettingsError::wrong(self.path(key), "a whole number", &value)),
        }
    }

    pub(super) fn object(
        &mut self,
        key: &'static str,
    ) -> Result<Option<Map<String, Value>>, SettingsError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Object(members)) => Ok(Some(members)),
            Some(other) => Err(SettingsError::wrong(self.path(key), "an object", &other)),
        }
    }

    /// Refuses whatever was not read.
    pub(super) fn done(self) -> Result<(), SettingsError> {
        match self.members.keys().next() {
            None => Ok(()),
            Some(key) => Err(SettingsError::new(
                join(&self.path, key),
                format!("is no setting; there are {}", self.known.join(", ")),
            )),
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A value as complaints show it: texts without quotes, everything cut to 40 characters.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    };
    djinn_runtime::prompt::cut(&text, 40)
}
