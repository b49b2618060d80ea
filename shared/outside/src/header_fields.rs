//! The headers of a file: fixed texts and the names of keys, at most one of them the caller's.

use djinn_core::id::KeyName;

use crate::fields::{FieldReader, Section};
use crate::template::TextTemplate;

/// Headers that describe the connection or the body, and those that every call has.
const OWN_HEADERS: [&str; 14] = [
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Reads `headers` of a section: names in lower case with their values. `is_own` rejects further names that calls of
/// this kind set themselves.
pub(crate) fn read_headers<'a>(
    reader: &mut FieldReader<'a>,
    section: &Section<'a>,
    is_own: fn(&str) -> bool,
) -> Vec<(String, TextTemplate)> {
    let Some(headers) = reader.read_section(section, "headers") else { return Vec::new() };
    let mut fields: Vec<(String, TextTemplate)> = Vec::new();
    let mut user_key: Option<KeyName> = None;
    for (name, text) in reader.read_texts(&headers, "a text") {
        let path = headers.join_path(&name);
        let name = name.to_ascii_lowercase();
        let problem = check_header(&name, &text.value, is_own);
        let problem = problem.or_else(|| {
            let is_repeated = fields.iter().any(|(other, _)| *other == name);
            is_repeated.then(|| "is set twice".to_owned())
        });
        if let Some(problem) = problem {
            reader.refuse(text.line, format!("`{path}` {problem}"));
            continue;
        }
        match TextTemplate::parse(&text.value) {
            Ok(template) if template.arguments().next().is_some() => {
                let rule = "no value of a call may reach a header, only a key";
                reader.refuse(text.line, format!("`{path}` has a parameter: {rule}"));
            }
            Ok(template) => {
                user_key = user_key.or_else(|| template.user_keys().next().cloned());
                let first = user_key.as_ref();
                if let Some(other) = template.user_keys().find(|key| Some(*key) != first) {
                    let rule = "a request has at most one key of the caller";
                    reader
                        .refuse(text.line, format!("`{path}` has `{{user_key:{other}}}`: {rule}"));
                }
                fields.push((name, template));
            }
            Err(problem) => reader.refuse(text.line, format!("`{path}`: {problem}")),
        }
    }
    fields
}

/// Returns the problem with a header.
fn check_header(name: &str, value: &str, is_own: fn(&str) -> bool) -> Option<String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Some("is no name of a header".to_owned());
    }
    if OWN_HEADERS.contains(&name) || name.starts_with("proxy-") || is_own(name) {
        return Some("is a header that a call sets itself".to_owned());
    }
    let is_visible = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    if !value.bytes().all(is_visible) {
        return Some("must consist of visible ASCII characters and spaces".to_owned());
    }
    None
}
