//! Questions of a model to its user.

use std::fmt;

use serde_json::{Map, Value};

/// A question of a model, with the choices that it offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelQuestion {
    /// The question.
    pub text: String,
    /// The offered responses; empty for an open question. Other words are a response too.
    pub choices: Vec<String>,
}

impl ModelQuestion {
    fn open(text: &str) -> Self {
        Self { text: text.to_owned(), choices: Vec::new() }
    }
}

/// Writes the question on one line: `Which metal? (gold / zinc)`.
impl fmt::Display for ModelQuestion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)?;
        if self.choices.is_empty() {
            return Ok(());
        }
        write!(formatter, " ({})", self.choices.join(" / "))
    }
}

/// Returns the questions of an [`super::ASK_USER`] call. Besides the schema's forms, accepts a single question,
/// and `options` in place of `choices`. Returns the whole arguments as text if no question can be parsed.
#[must_use]
pub fn parse_questions(arguments: &Map<String, Value>) -> Vec<ModelQuestion> {
    let questions = arguments.get("questions").map_or_else(|| parse_object(arguments), parse_value);
    if questions.is_empty() {
        vec![ModelQuestion::open(&Value::Object(arguments.clone()).to_string())]
    } else {
        questions
    }
}

fn parse_value(value: &Value) -> Vec<ModelQuestion> {
    match value {
        Value::String(text) => {
            let text = text.trim();
            if text.is_empty() { Vec::new() } else { vec![ModelQuestion::open(text)] }
        }
        Value::Array(all) => all.iter().flat_map(parse_value).collect(),
        Value::Object(fields) => parse_object(fields),
        _ => Vec::new(),
    }
}

fn parse_object(fields: &Map<String, Value>) -> Vec<ModelQuestion> {
    let mut questions = fields.get("question").map_or_else(Vec::new, parse_value);
    let choices = ["choices", "options"].iter().find_map(|name| fields.get(*name)?.as_array());
    if let ([question], Some(choices)) = (questions.as_mut_slice(), choices) {
        question.choices = choices.iter().filter_map(parse_choice).collect();
    }
    questions
}

/// Parses a text, or an object with a `label`.
fn parse_choice(choice: &Value) -> Option<String> {
    let text = choice.as_str().or_else(|| choice.get("label")?.as_str())?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn questions_are_parsed_in_each_form() {
        for (arguments, lines) in [
            (
                json!({"questions": ["Which metal?", " Which year? "]}),
                vec!["Which metal?", "Which year?"],
            ),
            (json!({"questions": "Which metal?"}), vec!["Which metal?"]),
            (json!({"question": "Which metal?"}), vec!["Which metal?"]),
            (
                json!({"questions": [{"question": "Which metal?", "choices": ["gold", " zinc "]}, "And why?"]}),
                vec!["Which metal? (gold / zinc)", "And why?"],
            ),
            (
                json!({"question": "Which metal?", "options": [{"label": "gold"}, 7, "", "zinc"]}),
                vec!["Which metal? (gold / zinc)"],
            ),
            (
                json!({"questions": {"question": "Which metal?", "choices": "gold"}}),
                vec!["Which metal?"],
            ),
            (json!({"questions": [7, {}]}), vec![r#"{"questions":[7,{}]}"#]),
            (json!({"ask": "Which metal?"}), vec![r#"{"ask":"Which metal?"}"#]),
        ] {
            let questions = parse_questions(arguments.as_object().unwrap());
            let seen: Vec<_> = questions.iter().map(ToString::to_string).collect();
            assert_eq!(seen, lines, "{arguments}");
        }
    }
}
