//! Lenient parsing of tool call arguments.

pub(crate) mod loose;

use djinn_core::tool::{ArgumentProblem, ToolArguments};
use serde_json::{Map, Value};

use loose::LooseError;

/// Maximum bytes of one call's arguments; longer arguments are `too_long`.
pub(crate) const MAX_ARGUMENTS: usize = 1024 * 1024;
/// Maximum characters kept of unreadable arguments.
const MAX_RAW: usize = 2_000;
/// Maximum levels of JSON encoded as text within JSON.
const MAX_QUOTED: usize = 3;

/// Parses a model's arguments. `cut` is true if the reply reached the output limit within the arguments; then
/// even an empty text may be incomplete.
pub(crate) fn parse_arguments(raw: &str, cut: bool) -> ToolArguments {
    if raw.len() > MAX_ARGUMENTS {
        return malformed_arguments(raw, ArgumentProblem::TooLong);
    }
    match parse_object(raw, cut, 0) {
        Ok(object) => ToolArguments::Parsed(object),
        Err(problem) => malformed_arguments(raw, problem),
    }
}

pub(crate) fn malformed_arguments(raw: &str, problem: ArgumentProblem) -> ToolArguments {
    ToolArguments::Malformed { raw: djinn_runtime::prompt::truncate_text(raw, MAX_RAW), problem }
}

fn parse_object(
    raw: &str,
    cut: bool,
    quote_depth: usize,
) -> Result<Map<String, Value>, ArgumentProblem> {
    let text = strip_fence(raw);
    let incomplete = if cut { ArgumentProblem::CutOff } else { ArgumentProblem::NotJson };
    if text.is_empty() {
        return if cut { Err(incomplete) } else { Ok(Map::new()) };
    }
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => parse_single_value(text).map_err(|flaw| match flaw {
            LooseError::Incomplete => incomplete,
            LooseError::Invalid => ArgumentProblem::NotJson,
        })?,
    };
    match value {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Map::new()),
        Value::String(inner) if quote_depth < MAX_QUOTED => {
            parse_object(&inner, cut, quote_depth + 1).map_err(|problem| {
                match (problem, text.starts_with('"')) {
                    // Text without JSON inside stays text.
                    (ArgumentProblem::NotJson, true) => ArgumentProblem::NotAnObject,
                    (problem, _) => problem,
                }
            })
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(ArgumentProblem::NotAnObject)
        }
    }
}

/// Returns the intended value of a text with several: `null{…}`, `{}{…}`, `{…}{…}` with equal values, or a
/// value with trailing noise.
fn parse_single_value(text: &str) -> Result<Value, LooseError> {
    let mut single_value: Option<Value> = None;
    let mut rest = text;
    while !is_trailing_noise(rest) {
        let (value, behind) = loose::parse_value(rest)?;
        rest = behind;
        let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        single_value = match single_value {
            None => Some(value),
            Some(old) if is_empty || old == value => Some(old),
            Some(old) if old.is_null() || old.as_object().is_some_and(Map::is_empty) => Some(value),
            Some(_) => return Err(LooseError::Invalid),
        };
    }
    single_value.ok_or(LooseError::Invalid)
}

/// Returns true for text allowed after arguments: extra brackets, and chat template marks.
fn is_trailing_noise(text: &str) -> bool {
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '}' | ']' | ',' | ';' | '`' => rest.get(1..),
            '<' => rest.find('>').and_then(|end| rest.get(end + 1..)),
            _ => None,
        }
        .unwrap_or("?")
        .trim_start();
        if rest == "?" {
            return false;
        }
    }
    true
}

/// Returns a text without the surrounding fence.
fn strip_fence(raw: &str) -> &str {
    let text = raw.trim().trim_start_matches('\u{feff}').trim();
    let Some(inner) = text.strip_prefix("```") else {
        return text;
    };
    let inner = inner.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    inner.strip_suffix("```").unwrap_or(inner).trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(raw: &str) -> Result<Value, ArgumentProblem> {
        match parse_arguments(raw, false) {
            ToolArguments::Parsed(object) => Ok(Value::Object(object)),
            ToolArguments::Malformed { problem, .. } => Err(problem),
        }
    }

    #[test]
    fn arguments_are_repaired() {
        let one = json!({"a": 1});
        for raw in [
            r#"{"a":1}"#,
            r#"null{"a":1}"#,
            r#"{"a":1}{"a":1}"#,
            r#"{}{"a":1}"#,
            r#"{"a":1}{}"#,
            "```json\n{\"a\":1}\n```",
            "{\"a\":1,}",
            "{'a':1}",
            "{a:1}",
            r#""{\"a\":1}""#,
            r#""\"{\\\"a\\\":1}\"""#,
            r#"{"a":1}}"#,
            r#"{"a":1}<|im_end|>"#,
            "{\"a\":1}</tool_call>\n",
            "\u{feff}{\"a\":1}",
        ] {
            assert_eq!(read(raw), Ok(one.clone()), "{raw}");
        }
        for raw in ["", "  ", "null", "{}", "\"\"", "None"] {
            assert_eq!(read(raw), Ok(json!({})), "{raw}");
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (raw, problem) in [
            ("{\"a\":", ArgumentProblem::NotJson),
            ("{\"a\":1}{\"b\":2}", ArgumentProblem::NotJson),
            ("please run it", ArgumentProblem::NotJson),
            ("[1,2]", ArgumentProblem::NotAnObject),
            ("42", ArgumentProblem::NotAnObject),
            ("\"Paris\"", ArgumentProblem::NotAnObject),
            (&"x".repeat(MAX_ARGUMENTS + 1), ArgumentProblem::TooLong),
        ] {
            assert_eq!(read(raw), Err(problem));
        }
        let ToolArguments::Malformed { raw, .. } = parse_arguments(&"界".repeat(9_000), false)
        else {
            panic!("nine thousand characters are no JSON");
        };
        assert_eq!(raw.chars().count(), MAX_RAW);
    }

    #[test]
    fn a_reply_that_was_cut_leaves_its_last_arguments_cut() {
        for raw in ["", "{", "{\"a\":\"x", "\"{\\\"a\\\":", "null{"] {
            let problem = ArgumentProblem::CutOff;
            assert!(
                matches!(parse_arguments(raw, true), ToolArguments::Malformed { problem: p, .. } if p == problem),
                "{raw}"
            );
        }
        assert!(matches!(parse_arguments("{\"a\":1}", true), ToolArguments::Parsed(_)));
    }
}
