//! Questions of a model to its user.

use serde_json::{Map, Value};

/// Returns the questions of an [`super::ASK_USER`] call. Besides the schema's form, accepts a single text and
/// objects with a `question`. Returns the whole arguments as text if no question can be parsed.
#[must_use]
pub fn parse_questions(arguments: &Map<String, Value>) -> Vec<String> {
    let value = ["questions", "question"].iter().find_map(|name| arguments.get(*name));
    let questions = value.map_or_else(Vec::new, collect_texts);
    if questions.is_empty() {
        vec![Value::Object(arguments.clone()).to_string()]
    } else {
        questions
    }
}

fn collect_texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => {
            let text = text.trim().to_owned();
            if text.is_empty() { Vec::new() } else { vec![text] }
        }
        Value::Array(all) => all.iter().flat_map(collect_texts).collect(),
        Value::Object(members) => members.get("question").map_or_else(Vec::new, collect_texts),
        _ => Vec::new(),
    }
}
