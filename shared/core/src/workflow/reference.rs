//! References of a workflow's templates to its values.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The first word of a reference to a result: `steps.read`.
pub const STEPS: &str = "steps";

/// The reference to the item of a `for_each` list.
pub const ITEM: &str = "item";

/// Words of references that would name a secret or a variable of the process.
const SECRET_WORDS: [&str; 5] = ["secret", "secrets", "env", "vars", "variables"];

/// A reference to a value: `region`, `steps.read`, `steps.read.total`, `item.name`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Reference {
    /// The value.
    pub source: ReferenceSource,
    /// The path to a field of the value; a number selects an item of a list.
    pub fields: Vec<String>,
}

/// The source of a referenced value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceSource {
    /// The parameter with this name.
    Parameter(String),
    /// The result of the step with this id.
    Result(String),
    /// The item of the step's `for_each` list.
    Item,
}

/// The reason why a text is no reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The text would name a secret.
    #[error("reads `{0}`: a workflow cannot read secrets or variables")]
    Secret(String),
    /// The text is not a path of names.
    #[error(
        "has `{0}`, which is not a name: write a parameter, `steps.ID` or `item`, with fields after dots"
    )]
    NotAName(String),
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let text = text.trim();
        let word = text.split(['.', ':']).next().unwrap_or_default();
        if SECRET_WORDS.contains(&word.to_ascii_lowercase().as_str()) {
            return Err(ReferenceError::Secret(text.to_owned()));
        }
        let not_a_name = || ReferenceError::NotAName(text.to_owned());
        let is_name = |segment: &str| {
            let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            !segment.is_empty() && segment.chars().all(is_letter)
        };
        if !text.split('.').all(is_name) {
            return Err(not_a_name());
        }
        let mut segments = text.split('.').map(str::to_owned);
        let source = match segments.next().ok_or_else(not_a_name)? {
            word if word == STEPS => {
                ReferenceSource::Result(segments.next().ok_or_else(not_a_name)?)
            }
            word if word == ITEM => ReferenceSource::Item,
            word => ReferenceSource::Parameter(word),
        };
        Ok(Self { source, fields: segments.collect() })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            ReferenceSource::Parameter(name) => f.write_str(name)?,
            ReferenceSource::Result(step) => write!(f, "{STEPS}.{step}")?,
            ReferenceSource::Item => f.write_str(ITEM)?,
        }
        self.fields.iter().try_for_each(|field| write!(f, ".{field}"))
    }
}

impl TryFrom<String> for Reference {
    type Error = ReferenceError;

    fn try_from(text: String) -> Result<Self, ReferenceError> {
        text.parse()
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> Self {
        reference.to_string()
    }
}
