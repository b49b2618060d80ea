//! Unknown names in a request, which would have no effect.

use djinn_text::near_miss::find_near_miss;
use serde_json::{Map, Value};

use crate::api_error::ApiError;

/// Maximum length of an unknown name in an error, in characters.
const MAX_NAME: usize = 64;

/// A body's fields unknown to its type, except empty values.
#[derive(Debug, Default)]
pub(crate) struct UnknownMembers {
    names: Vec<String>,
    known_names: &'static [&'static str],
}

impl UnknownMembers {
    pub(crate) fn new(known_names: &'static [&'static str], others: &Map<String, Value>) -> Self {
        let spoken = others.iter().filter(|(_, value)| has_content(value));
        Self { names: spoken.map(|(name, _)| name.clone()).collect(), known_names }
    }

    /// Rejects the body because of the first unknown field.
    ///
    /// # Errors
    /// Returns `invalid_field` with the name of the field.
    pub(crate) fn require_none(&self) -> Result<(), ApiError> {
        match self.names.first() {
            None => Ok(()),
            Some(name) => Err(unknown_name(name, "member", self.known_names)),
        }
    }

    /// Returns the first 16 unknown names that fit into a header.
    pub(crate) fn header_names(&self) -> Vec<String> {
        const MOST: usize = 16;
        let plain = |c: u8| c.is_ascii_alphanumeric() || b"_-.".contains(&c);
        let fits = |name: &&String| name.len() <= MAX_NAME && name.bytes().all(plain);
        let mut names: Vec<_> = self.names.iter().filter(fits).cloned().collect();
        names.sort();
        names.truncate(MOST);
        names
    }
}

fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Returns the error for an unknown parameter or field.
pub(crate) fn unknown_name(name: &str, kind: &str, known_names: &[&str]) -> ApiError {
    let name: String = name.chars().take(MAX_NAME).collect();
    let problem = describe_unknown(&name, kind, known_names);
    ApiError::invalid_field(name, &problem)
}

/// Describes an unknown name, with the nearest known name.
pub(crate) fn describe_unknown(name: &str, kind: &str, known_names: &[&str]) -> String {
    let suggestion = match find_near_miss(name, known_names.iter().copied()) {
        Some(nearest) => format!(" (did you mean `{nearest}`?)"),
        None => String::new(),
    };
    match known_names {
        [] => format!("has no effect here: this takes no {kind}s"),
        known_names => {
            format!("has no effect here{suggestion}: the {kind}s are {}", known_names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_said_if_there_is_one() {
        let known = ["question", "session_id", "mode"];
        let refusal = unknown_name("qestion", "member", &known);
        let sentence = "`qestion` has no effect here (did you mean `question`?): the members are \
                        question, session_id, mode";
        assert_eq!(refusal.failure.detail, sentence);
    }
}
