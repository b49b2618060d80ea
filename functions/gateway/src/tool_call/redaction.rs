//! Removes keys from answers: a server may repeat the headers of a request.

use djinn_outside::{AnswerContent, FoundFile, FoundFileContent, ToolProblem, ToolReading};
use djinn_runtime::port::secret::Secret;
use serde_json::Value;

/// The text in place of a key.
const REMOVED: &str = "***";

/// Shorter keys are not removed: they occur in other words too.
const LEAST_KEY: usize = 6;

/// The keys of a call, in every form in which an answer may repeat them.
pub(super) struct Redaction {
    forms: Vec<String>,
}

impl Redaction {
    pub(super) fn new(keys: &[(String, Option<Secret>)]) -> Self {
        let keys = keys.iter().filter_map(|(_, key)| Some(key.as_ref()?.reveal()));
        let mut forms: Vec<String> = keys
            .filter(|key| key.len() >= LEAST_KEY)
            .flat_map(|key| {
                let json = Value::from(key).to_string();
                let escaped = json.trim_matches('"').to_owned();
                [key.to_owned(), escaped.replace('/', "\\/"), escaped]
            })
            .collect();
        // A form that contains another is removed first.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms.dedup();
        Self { forms }
    }

    /// Removes the keys from a body, before a file in the body is decoded.
    pub(super) fn redact_bytes(&self, body: Vec<u8>) -> Vec<u8> {
        self.forms.iter().fold(body, |body, form| replace_bytes(body, form.as_bytes()))
    }

    /// Removes the keys that were escaped in the body.
    pub(super) fn redact_reading(&self, reading: ToolReading) -> ToolReading {
        match reading {
            ToolReading::Done { content, file } => {
                let content = match content {
                    AnswerContent::Text(text) => AnswerContent::Text(self.redact_text(text)),
                    AnswerContent::Json(value) => AnswerContent::Json(self.redact_json(value)),
                };
                ToolReading::Done { content, file: file.map(|file| self.redact_file(file)) }
            }
            ToolReading::Failed(ToolProblem { code, status, detail }) => {
                let detail = self.redact_text(detail);
                ToolReading::Failed(ToolProblem { code, status, detail })
            }
            ToolReading::Interrupted(interrupt) => ToolReading::Interrupted(interrupt),
        }
    }

    fn redact_file(&self, file: FoundFile) -> FoundFile {
        let content = match file.content {
            FoundFileContent::Bytes(bytes) => FoundFileContent::Bytes(self.redact_bytes(bytes)),
            url @ FoundFileContent::Url(_) => url,
        };
        FoundFile { content, ..file }
    }

    pub(super) fn redact_text(&self, text: String) -> String {
        self.forms.iter().fold(text, |text, form| {
            if text.contains(form.as_str()) { text.replace(form.as_str(), REMOVED) } else { text }
        })
    }

    fn redact_json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_text(text)),
            Value::Array(items) => items.into_iter().map(|item| self.redact_json(item)).collect(),
            Value::Object(members) => {
                let members = members.into_iter();
                members
                    .map(|(name, value)| (self.redact_text(name), self.redact_json(value)))
                    .collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }
}

/// Replaces all occurrences of `form`.
fn replace_bytes(body: Vec<u8>, form: &[u8]) -> Vec<u8> {
    let mut occurrences = memchr::memmem::find_iter(&body, form).peekable();
    if occurrences.peek().is_none() {
        return body;
    }
    let mut redacted = Vec::with_capacity(body.len());
    let mut end = 0;
    for at in occurrences {
        redacted.extend_from_slice(body.get(end..at).unwrap_or_default());
        redacted.extend_from_slice(REMOVED.as_bytes());
        end = at + form.len();
    }
    redacted.extend_from_slice(body.get(end..).unwrap_or_default());
    redacted
}

#[cfg(test)]
mod tests {
    use djinn_core::human::Interrupt;
    use djinn_outside::ToolProblemCode;
    use serde_json::json;

    use super::*;

    fn redaction(keys: &[&str]) -> Redaction {
        let keys: Vec<_> =
            keys.iter().map(|key| ("k".to_owned(), Some(Secret::new(key)))).collect();
        Redaction::new(&keys)
    }

    #[test]
    fn a_key_is_removed_wherever_an_answer_repeats_it() {
        let redaction = redaction(&["can/ary\"key", "can/ary\"key-2", "short"]);
        for (body, redacted) in [
            ("can/ary\"key", "***"),
            ("a can/ary\"key-2, can/ary\"key", "a ***, ***"),
            (r#"{"a": "can/ary\"key"}"#, r#"{"a": "***"}"#),
            (r#"{"a": "can\/ary\"key"}"#, r#"{"a": "***"}"#),
            ("short", "short"),
            ("canary", "canary"),
        ] {
            let found = redaction.redact_bytes(body.as_bytes().to_vec());
            assert_eq!(String::from_utf8(found).unwrap(), redacted, "{body}");
        }
    }

    #[test]
    fn a_key_that_was_escaped_is_removed_from_the_reading() {
        let redaction = redaction(&["canary-key"]);
        let value: Value =
            serde_json::from_str(r#"{"\u0063anary-key": ["Bearer \u0063anary-key", 1]}"#).unwrap();
        let done = |content| ToolReading::Done { content, file: None };
        let failed = |detail: &str| {
            let code = ToolProblemCode::Status;
            ToolReading::Failed(ToolProblem { code, status: None, detail: detail.to_owned() })
        };
        let interrupted = ToolReading::Interrupted(Interrupt {
            code: "1".into(),
            message: "Wait.".into(),
            key: None,
        });
        for (reading, expected) in [
            (
                done(AnswerContent::Json(value)),
                done(AnswerContent::Json(json!({"***": ["Bearer ***", 1]}))),
            ),
            (
                done(AnswerContent::Text("canary-key".into())),
                done(AnswerContent::Text("***".into())),
            ),
            (failed("no canary-key"), failed("no ***")),
            (interrupted.clone(), interrupted),
        ] {
            assert_eq!(redaction.redact_reading(reading), expected);
        }
    }
}
