//! Conditions of steps: equality and emptiness of a value.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reference::{Reference, ReferenceError};
use super::value::is_empty_value;

/// A condition: `detail`, `not steps.check.problems`, `form == html`, `form != "short"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    /// The compared value.
    pub reference: Reference,
    /// The comparison.
    pub comparison: Comparison,
}

/// The comparison of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// The value is not empty.
    Filled,
    /// The value is missing, null, false, or an empty text, list or mapping.
    Empty,
    /// The value equals this value.
    Equal(Value),
    /// The value differs from this value.
    Unequal(Value),
}

/// The reason why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// A part is not a reference.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// Nothing follows `==` or `!=`.
    #[error("compares with nothing: write a value after `==` or `!=`")]
    NoValue,
}

impl Condition {
    /// Returns true if the condition holds for the value of its reference.
    #[must_use]
    pub fn holds(&self, value: &Value) -> bool {
        match &self.comparison {
            Comparison::Filled => !is_empty_value(value),
            Comparison::Empty => is_empty_value(value),
            Comparison::Equal(other) => is_same(value, other),
            Comparison::Unequal(other) => !is_same(value, other),
        }
    }
}

/// Returns true for equal values. Texts are compared without surrounding white space, and with numbers and
/// booleans as they are written.
fn is_same(value: &Value, other: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    value == other || text(value).is_some_and(|own| text(other) == Some(own))
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        let parse_value = |text: &str| match text.trim() {
            "" => Err(ConditionError::NoValue),
            text => Ok(serde_json::from_str(text)
                .unwrap_or_else(|_| Value::String(text.trim_matches(['\'', '"']).to_owned()))),
        };
        let text = text.trim();
        let (path, comparison) = if let Some((path, value)) = text.split_once("==") {
            (path, Comparison::Equal(parse_value(value)?))
        } else if let Some((path, value)) = text.split_once("!=") {
            (path, Comparison::Unequal(parse_value(value)?))
        } else if let Some(path) = text.strip_prefix("not ") {
            (path, Comparison::Empty)
        } else {
            (text, Comparison::Filled)
        };
        // Braces around the value are allowed, because templates have them.
        let path = path.trim();
        let bare = path.strip_prefix("{{").and_then(|path| path.strip_suffix("}}"));
        Ok(Self { reference: bare.unwrap_or(path).parse()?, comparison })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reference, comparison } = self;
        match comparison {
            Comparison::Filled => write!(f, "{reference}"),
            Comparison::Empty => write!(f, "not {reference}"),
            Comparison::Equal(value) => write!(f, "{reference} == {value}"),
            Comparison::Unequal(value) => write!(f, "{reference} != {value}"),
        }
    }
}

impl TryFrom<String> for Condition {
    type Error = ConditionError;

    fn try_from(text: String) -> Result<Self, ConditionError> {
        text.parse()
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        condition.to_string()
    }
}
