//! The result of a call: each kind of content exactly once.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

/// Maximum number of files of a result.
pub const MAX_FILES: usize = 20;

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The result of a call. Anybody may have written the content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpResult {
    /// The texts, structured content and links in their order, with an empty line between them.
    pub text: String,
    /// The images, sounds and other files, at most [`MAX_FILES`].
    pub files: Vec<McpFile>,
    /// True if the tool reports that it failed.
    pub is_error: bool,
}

/// A file of a result.
#[derive(Clone, PartialEq, Eq)]
pub struct McpFile {
    /// The last part of the file's URI, if it has one.
    pub name: Option<String>,
    /// The media type, as the server says.
    pub media_type: Option<String>,
    /// All bytes.
    pub content: Vec<u8>,
}

impl std::fmt::Debug for McpFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} ({} bytes of {:?})", self.name, self.content.len(), self.media_type)
    }
}

/// Reads the result of `tools/call`. Links are text and are not followed.
///
/// # Errors
/// Returns the problem as a sentence without its full stop.
pub fn read_result(result: Value) -> Result<McpResult, String> {
    let Value::Object(mut result) = result else {
        return Err("the result is no object".to_owned());
    };
    let is_error = match result.remove("isError") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(is_error)) => is_error,
        Some(_) => return Err("`isError` is no boolean".to_owned()),
    };
    let structured = result.remove("structuredContent").filter(|value| !value.is_null());
    let items = match result.remove("content") {
        Some(Value::Array(items)) => items,
        None | Some(Value::Null) if structured.is_some() => Vec::new(),
        None | Some(Value::Null) => return Err("the result has no content".to_owned()),
        Some(_) => return Err("`content` is no list".to_owned()),
    };
    let mut content = Content::default();
    for item in items {
        content.add_item(item)?;
    }
    if let Some(structured) = structured.filter(|value| !content.has_value(value)) {
        content.texts.push(structured.to_string());
    }
    let text = content.texts.join("\n\n");
    Ok(McpResult { text, files: content.files, is_error })
}

/// The content read so far.
#[derive(Default)]
struct Content {
    texts: Vec<String>,
    files: Vec<McpFile>,
}

impl Content {
    fn add_item(&mut self, item: Value) -> Result<(), String> {
        let Value::Object(mut item) = item else {
            return Err("an item of `content` is no object".to_owned());
        };
        match read_text(&item, "type")? {
            "text" => self.texts.push(take_text(&mut item, "text")?),
            "image" | "audio" => {
                let content = take_bytes(&mut item, "data")?;
                let media_type = take_text(&mut item, "mimeType").ok();
                self.add_file(McpFile { name: None, media_type, content })?;
            }
            "resource_link" => self.texts.push(render_link(&mut item)?),
            "resource" => {
                let Some(Value::Object(resource)) = item.remove("resource") else {
                    return Err("a resource of `content` is no object".to_owned());
                };
                self.add_resource(resource)?;
            }
            other => {
                let other: String = other.chars().take(50).collect();
                return Err(format!("`content` has an item of the unknown type {other:?}"));
            }
        }
        Ok(())
    }

    fn add_resource(&mut self, mut resource: Map<String, Value>) -> Result<(), String> {
        if resource.contains_key("text") {
            self.texts.push(take_text(&mut resource, "text")?);
            return Ok(());
        }
        let content = take_bytes(&mut resource, "blob")?;
        let uri = take_text(&mut resource, "uri").unwrap_or_default();
        let path = uri.split(['?', '#']).next().unwrap_or_default();
        let name = path.rsplit('/').next().filter(|name| !name.is_empty()).map(str::to_owned);
        let media_type = take_text(&mut resource, "mimeType").ok();
        self.add_file(McpFile { name, media_type, content })
    }

    fn add_file(&mut self, file: McpFile) -> Result<(), String> {
        if self.files.len() >= MAX_FILES {
            return Err(format!("the result has more than {MAX_FILES} files"));
        }
        self.files.push(file);
        Ok(())
    }

    /// Returns true if the texts already have the structured content. Python's SDK wraps a value that is no
    /// object as `{"result": value}`, beside the value as one text, or each item of a list as a text.
    fn has_value(&self, structured: &Value) -> bool {
        let has = |value: &Value| self.texts.iter().any(|text| is_value(text, value));
        let object = structured.as_object().filter(|object| object.len() == 1);
        let wrapped = object.and_then(|object| object.get("result"));
        let has_items = |items: &[Value]| {
            !items.is_empty()
                && items.len() == self.texts.len()
                && self.texts.iter().zip(items).all(|(text, item)| is_value(text, item))
        };
        has(structured)
            || wrapped.is_some_and(|value| {
                has(value) || value.as_array().is_some_and(|items| has_items(items))
            })
    }
}

/// Returns true if the text is the value: the same text, or its JSON.
fn is_value(text: &str, value: &Value) -> bool {
    value.as_str() == Some(text)
        || serde_json::from_str::<Value>(text).is_ok_and(|json| json == *value)
}

/// Returns the names and the target of a link.
fn render_link(item: &mut Map<String, Value>) -> Result<String, String> {
    let uri = take_text(item, "uri")?;
    let name = take_text(item, "title").or_else(|_| take_text(item, "name")).unwrap_or_default();
    let link = if name.is_empty() { uri } else { format!("{name}: {uri}") };
    let description = take_text(item, "description").unwrap_or_default();
    Ok(if description.is_empty() { link } else { format!("{link}\n{description}") })
}

fn read_text<'a>(item: &'a Map<String, Value>, field: &str) -> Result<&'a str, String> {
    let text = item.get(field).and_then(Value::as_str);
    text.ok_or_else(|| format!("an item of `content` has no text as its `{field}`"))
}

fn take_text(item: &mut Map<String, Value>, field: &str) -> Result<String, String> {
    match item.remove(field) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(format!("an item of `content` has no text as its `{field}`")),
    }
}

fn take_bytes(item: &mut Map<String, Value>, field: &str) -> Result<Vec<u8>, String> {
    let text = take_text(item, field)?;
    // Some servers break the lines.
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = BASE64.decode(text);
    bytes.map_err(|_| format!("the `{field}` of an item of `content` is no base64"))
}

#[cfg(test)]
mod tests;
