//! The section `[result]`.

use serde_json::Value;

use crate::answer::{FileRule, FileSource, InterruptRule, ResultRules};
use crate::fields::{FieldReader, Section};

/// Maximum characters of a message to the user.
const MAX_MESSAGE: usize = 250;

/// Maximum interrupts of a tool.
const MAX_INTERRUPTS: usize = 20;

/// Reads the rules, by default those of an answer that is the result as a whole.
pub(super) fn read_result<'a>(
    reader: &mut FieldReader<'a>,
    top: &Section<'a>,
    tool: &str,
) -> ResultRules {
    let Some(section) = reader.read_section(top, "result") else { return ResultRules::default() };
    reader.check_names(&section, &["pointer", "error_pointer", "interrupts", "file"]);
    let pointer = read_pointer(reader, &section, "pointer");
    let error_pointer = read_pointer(reader, &section, "error_pointer");
    if pointer.is_some() && pointer == error_pointer {
        let rule = "`result.pointer` and `result.error_pointer` are the same";
        reader.refuse(reader.line_of(&section, "error_pointer"), rule);
    }
    let sections = reader.read_sections(&section, "interrupts");
    if sections.len() > MAX_INTERRUPTS {
        let rule = format!("`result.interrupts` has more than {MAX_INTERRUPTS} tables");
        reader.refuse(section.line, rule);
    }
    let interrupts = sections.iter().filter_map(|section| read_interrupt(reader, section));
    let interrupts = interrupts.collect();
    let file =
        reader.read_section(&section, "file").and_then(|section| read_file(reader, &section, tool));
    ResultRules { pointer, error_pointer, interrupts, file }
}

fn read_interrupt<'a>(
    reader: &mut FieldReader<'a>,
    section: &Section<'a>,
) -> Option<InterruptRule> {
    reader.check_names(section, &["pointer", "value", "message"]);
    for name in ["pointer", "value", "message"] {
        if !section.has_field(name) {
            let rule = format!("`{}` is missing", section.join_path(name));
            reader.refuse(section.line, rule);
        }
    }
    let pointer = read_pointer(reader, section, "pointer");
    let accepted = format!("a text of at most {MAX_MESSAGE} characters for the user");
    let message = reader.read_text(section, "message", &accepted);
    if let Some(message) = message.as_ref().filter(|it| it.value.chars().count() > MAX_MESSAGE) {
        reader.refuse(message.line, format!("`result.interrupts.message` must be {accepted}"));
    }
    let value = reader.read_json(section, "value")?;
    if matches!(value.value, Value::Array(_) | Value::Object(_)) {
        let rule = "`result.interrupts.value` must be a text, a number or a boolean";
        reader.refuse(value.line, rule);
    }
    Some(InterruptRule { pointer: pointer?, value: value.value, message: message?.value })
}

fn read_file<'a>(
    reader: &mut FieldReader<'a>,
    section: &Section<'a>,
    tool: &str,
) -> Option<FileRule> {
    reader.check_names(section, &["base64", "url", "name", "media_type"]);
    let base64 = read_pointer(reader, section, "base64");
    let url = read_pointer(reader, section, "url");
    let name = reader.read_text(section, "name", "a file name");
    let media_type = reader.read_text(section, "media_type", "a media type");
    if let Some(name) = name.as_ref().filter(|name| !is_file_name(&name.value)) {
        let rule = "`result.file.name` must be a file name of 1 to 100 characters without `/`";
        reader.refuse(name.line, rule);
    }
    if let Some(media_type) = media_type.as_ref().filter(|it| !is_media_type(&it.value)) {
        let rule = "`result.file.media_type` must be a media type, such as \"image/png\"";
        reader.refuse(media_type.line, rule);
    }
    let fields = ["base64", "url"].map(|name| section.has_field(name));
    if fields == [true, true] || fields == [false, false] {
        let rule = "`result.file` needs one of `base64` and `url`: a JSON pointer into the answer";
        reader.refuse(section.line, rule);
    }
    let source = match (base64, url) {
        (Some(pointer), None) => FileSource::Base64(pointer),
        (None, Some(pointer)) => FileSource::Url(pointer),
        _ => return None,
    };
    let name = name.map_or_else(|| tool.to_owned(), |name| name.value);
    Some(FileRule { source, name, media_type: media_type.map(|it| it.value) })
}

fn is_file_name(name: &str) -> bool {
    (1..=100).contains(&name.chars().count())
        && !name.starts_with('.')
        && !name.contains(|c: char| c.is_control() || matches!(c, '/' | '\\'))
}

fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        (1..=60).contains(&part.len()) && part.bytes().all(is_allowed)
    };
    text.split_once('/').is_some_and(|(kind, name)| is_token(kind) && is_token(name))
}

/// Reads a JSON pointer (RFC 6901).
fn read_pointer<'a>(
    reader: &mut FieldReader<'a>,
    section: &Section<'a>,
    name: &str,
) -> Option<String> {
    const ACCEPTED: &str = "a JSON pointer, such as \"/data/0/text\"";
    let pointer = reader.read_text(section, name, ACCEPTED)?;
    let has_escapes = pointer.value.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if pointer.value.starts_with('/') && has_escapes {
        return Some(pointer.value);
    }
    let rule = format!("`{}` must be {ACCEPTED}", section.join_path(name));
    reader.refuse(pointer.line, rule);
    None
}
