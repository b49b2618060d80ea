//! Unknown names in a request, which would have no effect.

use serde_json::{Map, Value};

use crate::api_error::ApiError;

/// Maximum length of an unknown name in an error, in characters.
const MAX_NAME: usize = 64;

/// A body's fields unknown to its type, except empty values.
#[derive(Debug, Default)]
pub(crate) struct UnknownMembers {
    names: Vec<String>,
    known: &'static [&'static str],
}

impl UnknownMembers {
    pub(crate) fn new(known: &'static [&'static str], others: &Map<String, Value>) -> Self {
        let spoken = others.iter().filter(|(_, value)| has_content(value));
        Self { names: spoken.map(|(name, _)| name.clone()).collect(), known }
    }

    /// Rejects the body because of the first unknown field.
    ///
    /// # Errors
    /// Returns `invalid_field` with the name of the field.
    pub(crate) fn require_none(&self) -> Result<(), ApiError> {
        match self.names.first() {
            None => Ok(()),
            Some(name) => Err(unknown_name(name, "member", self.known)),
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
pub(crate) fn unknown_name(name: &str, kind: &str, known: &[&str]) -> ApiError {
    let name: String = name.chars().take(MAX_NAME).collect();
    let problem = describe_unknown(&name, kind, known);
    ApiError::invalid_field(name, &problem)
}

/// Describes an unknown name, with the nearest known name.
pub(crate) fn describe_unknown(name: &str, kind: &str, known: &[&str]) -> String {
    let meant = match nearest_name(name, known) {
        Some(meant) => format!(" (did you mean `{meant}`?)"),
        None => String::new(),
    };
    match known {
        [] => format!("has no effect here: this takes no {kind}s"),
        known => format!("has no effect here{meant}: the {kind}s are {}", known.join(", ")),
    }
}

/// Returns the nearest known name, with at most a third of the letters different, ignoring case.
fn nearest_name<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // Longer names are never close, and a comparison takes the product of both lengths.
    let name = Some(name.to_lowercase()).filter(|name| name.len() <= MAX_NAME)?;
    let distance = |known: &str| strsim::levenshtein(&name, &known.to_lowercase());
    let (distance, known) = known
        .iter()
        .map(|known| (distance(known), *known))
        .min_by_key(|(distance, _)| *distance)?;
    (distance * 3 <= known.len()).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_said_if_there_is_one() {
        let known = ["question", "session_id", "mode"];
        for (name, meant) in [
            ("qestion", Some("question")),
            ("sessionId", Some("session_id")),
            ("Mode", Some("mode")),
            ("prompt", None),
            ("q", None),
            ("x".repeat(100_000).as_str(), None),
        ] {
            assert_eq!(nearest_name(name, &known), meant, "{name}");
        }
        let refusal = unknown_name("qestion", "member", &known);
        let sentence = "`qestion` has no effect here (did you mean `question`?): the members are \
                        question, session_id, mode";
        assert_eq!(refusal.failure.detail, sentence);
    }
}
