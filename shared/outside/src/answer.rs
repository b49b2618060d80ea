//! The answer of a server, and the rules by which a file reads it.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use djinn_core::human::Interrupt;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::template::to_text;

/// Maximum characters of a server's own words in an error.
const MAX_DETAIL: usize = 500;

/// Base64 with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An answer as the file's rules read it.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolReading {
    /// The result.
    Done {
        /// The content for the model. A file within it is replaced by the file's name.
        content: AnswerContent,
        /// The file of the result.
        file: Option<FoundFile>,
    },
    /// The call failed; the run continues.
    Failed(ToolProblem),
    /// Nothing was done, and a user can remove the cause.
    Interrupted(Interrupt),
}

/// The content of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerContent {
    /// A plain text; empty for an answer without a body.
    Text(String),
    /// JSON.
    Json(Value),
}

impl AnswerContent {
    /// Returns the content as one text.
    #[must_use]
    pub fn into_text(self) -> String {
        match self {
            Self::Text(text) | Self::Json(Value::String(text)) => text,
            Self::Json(value) => value.to_string(),
        }
    }
}

/// A file of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// The name in the tool's file, or the tool's name without an ending.
    pub name: String,
    /// The media type in the tool's file or in the answer, if any.
    pub media_type: Option<String>,
    /// The content.
    pub content: FoundFileContent,
}

/// The content of a file, or its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundFileContent {
    /// The bytes.
    Bytes(Vec<u8>),
    /// An unchecked URL. The request for the file must contain no key.
    Url(String),
}

/// The problem of a failed call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolProblem {
    /// The kind of the problem.
    pub code: ToolProblemCode,
    /// The HTTP status, if the server answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The server's own words, the missing part, or the reason; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// The kinds of problems with a call. Only the kinds from [`Self::Status`] on come from an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolProblemCode {
    /// No file defines the tool any more, or the file has changed since the offer. No request was sent.
    Changed,
    /// The server no longer has the tool that was locked. The call did nothing.
    Gone,
    /// The arguments fit into no request. No request was sent.
    Arguments,
    /// The operator has not set a key that the request needs. No request was sent.
    KeyMissing,
    /// The caller has not set the key that the request needs, or the stored key cannot be opened. No request was sent.
    UserKeyMissing,
    /// The caller's key cannot be read or opened now. No request was sent.
    UserKeyUnavailable,
    /// The URL's target is forbidden. No request was sent.
    Address,
    /// The server was unreachable. No request was sent.
    Unreachable,
    /// The server took too long.
    TooSlow,
    /// The answer is above the size limit.
    TooLarge,
    /// The server broke the connection, or spoke no HTTP.
    Protocol,
    /// The server answered with a redirect, and the request contains a key.
    Redirect,
    /// The server answered with a status other than success.
    Status,
    /// The server rejected a request with the caller's key: status 401 or 403.
    UserKeyRejected,
    /// The server reported an error in a successful answer.
    Reported,
    /// The answer is not JSON.
    NotJson,
    /// The answer lacks the result.
    NoResult,
    /// The answer is neither JSON nor plain text.
    Unsupported,
    /// The file in the answer cannot be read.
    BrokenFile,
}

impl ToolProblemCode {
    /// Returns true if the server may have done what the request asks: its answer was lost, or is unreadable.
    #[must_use]
    pub fn may_be_done(self) -> bool {
        match self {
            Self::TooSlow
            | Self::TooLarge
            | Self::Protocol
            | Self::NotJson
            | Self::NoResult
            | Self::Unsupported
            | Self::BrokenFile => true,
            Self::Changed
            | Self::Gone
            | Self::Arguments
            | Self::KeyMissing
            | Self::UserKeyMissing
            | Self::UserKeyUnavailable
            | Self::Address
            | Self::Unreachable
            | Self::Redirect
            | Self::Status
            | Self::UserKeyRejected
            | Self::Reported => false,
        }
    }
}

/// The rules of a file for answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ResultRules {
    /// The location of the result; `None` for the whole answer.
    pub(crate) pointer: Option<String>,
    /// The location of an error's words.
    pub(crate) error_pointer: Option<String>,
    pub(crate) interrupts: Vec<InterruptRule>,
    pub(crate) file: Option<FileRule>,
}

/// An answer that interrupts the call: the value at a location.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InterruptRule {
    pub(crate) pointer: String,
    pub(crate) value: Value,
    pub(crate) message: String,
}

/// The file of a result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileRule {
    pub(crate) source: FileSource,
    pub(crate) name: String,
    pub(crate) media_type: Option<String>,
}

/// The location of a file's content in an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FileSource {
    Base64(String),
    Url(String),
}

/// The body of an answer by its content.
enum Body {
    Json(Value),
    /// Neither JSON nor empty, although the server or the rules want JSON.
    NotJson(String),
    Text(String),
    Html,
    /// A media type without text.
    Other(String),
}

impl ResultRules {
    pub(crate) fn read_answer(
        &self,
        status: u16,
        content_type: Option<&str>,
        body: &[u8],
    ) -> ToolReading {
        let body = self.parse_body(content_type, body);
        if let Body::Json(value) = &body
            && let Some(interrupt) = self.find_interrupt(value)
        {
            return ToolReading::Interrupted(interrupt);
        }
        if !(200..300).contains(&status) {
            let detail = self.find_detail(&body);
            return refuse(ToolProblemCode::Status, status, &detail);
        }
        match body {
            Body::Json(value) => self.read_value(status, value),
            Body::Text(text) => {
                let content = AnswerContent::Text(text);
                ToolReading::Done { content, file: None }
            }
            Body::NotJson(text) => refuse(ToolProblemCode::NotJson, status, &text),
            Body::Html => refuse(ToolProblemCode::Unsupported, status, "text/html"),
            Body::Other(media_type) => refuse(ToolProblemCode::Unsupported, status, &media_type),
        }
    }

    fn parse_body(&self, content_type: Option<&str>, body: &[u8]) -> Body {
        let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default();
        let media_type = media_type.trim().to_ascii_lowercase();
        let is_json = media_type == "application/json" || media_type.ends_with("+json");
        let is_text = media_type.is_empty() || media_type.starts_with("text/");
        if matches!(&*media_type, "text/html" | "application/xhtml+xml") {
            return Body::Html;
        }
        let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
        let needs_json = self.pointer.is_some() || self.file.is_some();
        if !is_json && !is_text && !body.is_empty() {
            return Body::Other(media_type);
        }
        let is_plain =
            media_type.starts_with("text/") && !needs_json && self.error_pointer.is_none();
        if let Ok(value) = serde_json::from_slice(body)
            && !(is_plain && self.interrupts.is_empty())
        {
            return Body::Json(value);
        }
        let text = String::from_utf8_lossy(body).into_owned();
        let start: String = text.trim_start().chars().take(9).collect();
        let start = start.to_ascii_lowercase();
        if start.starts_with("<!doctype") || start.starts_with("<html") {
            Body::Html
        } else if needs_json || (is_json && !body.is_empty()) {
            Body::NotJson(text)
        } else {
            Body::Text(text)
        }
    }

    fn find_interrupt(&self, value: &Value) -> Option<Interrupt> {
        self.interrupts.iter().find_map(|rule| {
            let code = to_text(value.pointer(&rule.pointer)?);
            let is_met = code == to_text(&rule.value);
            let code: String = code.unwrap_or_default().chars().take(100).collect();
            is_met.then(|| Interrupt { code, message: rule.message.clone(), key: None })
        })
    }

    /// Returns the server's own words about an error.
    fn find_detail(&self, body: &Body) -> String {
        match body {
            Body::Json(value) => {
                let words = self.find_error(value);
                words.unwrap_or_else(|| AnswerContent::Json(value.clone()).into_text())
            }
            Body::Text(text) | Body::NotJson(text) => text.clone(),
            Body::Html | Body::Other(_) => String::new(),
        }
    }

    /// Returns the error of an answer. `null`, `false`, `0` and empty values are no error.
    fn find_error(&self, value: &Value) -> Option<String> {
        let error = value.pointer(self.error_pointer.as_ref()?)?;
        let is_empty = match error {
            Value::Null => true,
            Value::Bool(is_error) => !is_error,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(text) => text.trim().is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
        };
        (!is_empty).then(|| to_text(error).unwrap_or_default())
    }

    fn read_value(&self, status: u16, mut value: Value) -> ToolReading {
        if let Some(error) = self.find_error(&value) {
            return refuse(ToolProblemCode::Reported, status, &error);
        }
        let file = match self.file.as_ref().map(|rule| rule.take_file(&mut value)) {
            Some(Err(detail)) => return refuse(ToolProblemCode::BrokenFile, status, &detail),
            Some(Ok(file)) => file,
            None => None,
        };
        let content = match &self.pointer {
            None => Some(value),
            Some(pointer) => value.pointer_mut(pointer).map(Value::take),
        };
        match content {
            Some(value) => ToolReading::Done { content: AnswerContent::Json(value), file },
            None => {
                let pointer = self.pointer.clone().unwrap_or_default();
                refuse(ToolProblemCode::NoResult, status, &pointer)
            }
        }
    }
}

impl FileRule {
    /// Returns the file of an answer and leaves its name there; `None` if the answer has no file.
    ///
    /// # Errors
    /// Returns the location of a file that cannot be read.
    fn take_file(&self, value: &mut Value) -> Result<Option<FoundFile>, String> {
        let pointer = match &self.source {
            FileSource::Base64(pointer) | FileSource::Url(pointer) => pointer,
        };
        let text = match value.pointer_mut(pointer) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(text)) if !text.is_empty() => {
                std::mem::replace(text, self.name.clone())
            }
            Some(_) => return Err(pointer.clone()),
        };
        let mut media_type = self.media_type.clone();
        let content = match &self.source {
            FileSource::Url(_) => FoundFileContent::Url(text),
            FileSource::Base64(_) => {
                let data_url =
                    text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
                let encoded = match data_url {
                    Some((kind, encoded)) => {
                        media_type = media_type.or_else(|| Some(kind.to_owned()));
                        encoded
                    }
                    None => &text,
                };
                let encoded: String = encoded.split_ascii_whitespace().collect();
                let bytes = BASE64.decode(encoded).map_err(|_| pointer.clone())?;
                FoundFileContent::Bytes(bytes)
            }
        };
        Ok(Some(FoundFile { name: self.name.clone(), media_type, content }))
    }
}

fn refuse(code: ToolProblemCode, status: u16, detail: &str) -> ToolReading {
    let mut words: String = detail.trim().chars().take(MAX_DETAIL).collect();
    if detail.trim().chars().nth(MAX_DETAIL).is_some() {
        words.push('…');
    }
    ToolReading::Failed(ToolProblem { code, status: Some(status), detail: words })
}

#[cfg(test)]
mod tests;
