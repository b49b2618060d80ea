//! The request of a call.

use djinn_core::id::KeyName;
use djinn_core::tool::canonical_json;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use url::Url;

use crate::template::{JsonTemplate, Piece, TextTemplate, to_text};

/// Maximum bytes of a URL, in a file and of a call.
pub const MAX_URL_BYTES: usize = 2048;

/// All characters besides those that RFC 3986 calls unreserved.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestMethod {
    /// `GET`, without a body.
    Get,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

impl RequestMethod {
    /// Returns the method as HTTP writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// The request of a call, with the names of keys in place of their values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideRequest {
    /// The method.
    pub method: RequestMethod,
    /// The URL with its query, at most [`MAX_URL_BYTES`] bytes.
    pub url: String,
    /// The headers of the file, each once, with lower-case names.
    pub headers: Vec<OutsideHeader>,
    /// The body, to be sent as `application/json`.
    pub body: Option<String>,
}

impl OutsideRequest {
    /// Returns true if a header contains a key. Such a request must follow no redirect.
    #[must_use]
    pub fn has_key(&self) -> bool {
        let mut parts = self.headers.iter().flat_map(|header| &header.value);
        parts.any(|part| matches!(part, HeaderPart::Key(_) | HeaderPart::UserKey(_)))
    }
}

/// A header of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideHeader {
    /// The name in lower case.
    pub name: String,
    /// The parts of the value, in order.
    pub value: Vec<HeaderPart>,
}

/// A part of a header's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderPart {
    /// Visible ASCII characters and spaces.
    Text(String),
    /// The value of the operator's key of this name.
    Key(String),
    /// The value of the caller's key of this name.
    UserKey(KeyName),
}

/// The reason why arguments fit into no request, as a sentence for the model without its full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// The arguments are no JSON object.
    #[error("the arguments are no JSON object")]
    NoObject,
    /// A part of the path has no value.
    #[error("`{0}` is missing")]
    Missing(String),
    /// A part of the path or of the query has a value of another type.
    #[error("`{0}` must be a text, a number or a boolean")]
    Kind(String),
    /// A segment of the path would be empty, `.` or `..`, which names another path.
    #[error("`{0}` cannot be empty, `.` or `..`")]
    Segment(String),
    /// The URL would be above the limit.
    #[error("the arguments are too long for a URL of at most {MAX_URL_BYTES} bytes")]
    TooLong,
}

/// The request of a file, with placeholders.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestTemplate {
    pub(crate) method: RequestMethod,
    pub(crate) url: UrlTemplate,
    pub(crate) query: Vec<(String, TextTemplate)>,
    pub(crate) headers: Vec<(String, TextTemplate)>,
    pub(crate) body: Option<JsonTemplate>,
}

impl RequestTemplate {
    pub(crate) fn key_names(&self) -> Vec<&str> {
        list_keys(&self.headers)
    }

    pub(crate) fn user_key(&self) -> Option<&KeyName> {
        self.headers.iter().flat_map(|(_, value)| value.user_keys()).next()
    }

    pub(crate) fn fill(&self, arguments: &Value) -> Result<OutsideRequest, FillError> {
        let arguments = arguments.as_object().ok_or(FillError::NoObject)?;
        let mut pairs = Vec::new();
        for (name, template) in &self.query {
            for value in fill_query(template, arguments)? {
                pairs.push(format!("{}={}", encode(name), encode(&value)));
            }
        }
        let path = self.url.fill(arguments)?;
        let mark = if pairs.is_empty() { "" } else { "?" };
        let url = format!("{path}{mark}{}", pairs.join("&"));
        if url.len() > MAX_URL_BYTES {
            return Err(FillError::TooLong);
        }
        let body = self.body.as_ref().and_then(|body| body.fill(arguments));
        Ok(OutsideRequest {
            method: self.method,
            url,
            headers: to_headers(&self.headers),
            body: body.map(|body| body.to_string()),
        })
    }
}

/// Returns the names of the keys in headers, each once.
pub(crate) fn list_keys(headers: &[(String, TextTemplate)]) -> Vec<&str> {
    let mut names: Vec<&str> = headers.iter().flat_map(|(_, value)| value.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the headers of a request.
pub(crate) fn to_headers(fields: &[(String, TextTemplate)]) -> Vec<OutsideHeader> {
    let headers = fields.iter().map(|(name, template)| OutsideHeader {
        name: name.clone(),
        value: template.pieces().iter().filter_map(to_header_part).collect(),
    });
    headers.collect()
}

fn to_header_part(piece: &Piece) -> Option<HeaderPart> {
    match piece {
        Piece::Text(text) => Some(HeaderPart::Text(text.clone())),
        Piece::Key(name) => Some(HeaderPart::Key(name.clone())),
        Piece::UserKey(name) => Some(HeaderPart::UserKey(name.clone())),
        // A file with an argument in a header is rejected.
        Piece::Argument(_) => None,
    }
}

/// Returns the values of a query field: one for each item of a list, none without an argument.
fn fill_query(
    template: &TextTemplate,
    arguments: &Map<String, Value>,
) -> Result<Vec<String>, FillError> {
    let whole = template.whole_argument();
    if let Some((name, Value::Array(items))) = whole.and_then(|it| arguments.get_key_value(it)) {
        let texts = items.iter().map(|item| scalar_text(name, item));
        return texts.collect();
    }
    for name in template.arguments() {
        match arguments.get(name) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(value) => scalar_text(name, value)?,
        };
    }
    Ok(template.fill(arguments).into_iter().collect())
}

/// Returns a text, a number or a boolean as a text.
fn scalar_text(name: &str, value: &Value) -> Result<String, FillError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(canonical_json(value)),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(FillError::Kind(name.to_owned())),
    }
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// A URL with placeholders in the segments of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UrlTemplate {
    /// The URL up to the host and port, without a slash at the end.
    origin: String,
    /// The segments of the path; empty for a URL without a path.
    segments: Vec<TextTemplate>,
}

impl UrlTemplate {
    /// Parses the URL of a file.
    ///
    /// # Errors
    /// Returns the problem as the rest of a sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_URL_BYTES {
            return Err(format!("is longer than {MAX_URL_BYTES} bytes"));
        }
        if text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err("has a space, a control character or a backslash".to_owned());
        }
        let scheme =
            text.split_once("://").filter(|(scheme, _)| ["http", "https"].contains(scheme));
        let Some((scheme, rest)) = scheme else {
            return Err("must begin with https:// or http://".to_owned());
        };
        if rest.contains('#') {
            return Err("has a fragment, which no server receives".to_owned());
        }
        if rest.contains('?') {
            return Err("has a query: write its fields in `query`".to_owned());
        }
        let (authority, path) = rest.split_once('/').unzip();
        let authority = authority.unwrap_or(rest);
        if authority.contains(['{', '}']) {
            return Err("has a placeholder in its host: only its path may have one".to_owned());
        }
        if authority.contains('@') {
            return Err("has a user or a password: use `{key:NAME}` in `headers`".to_owned());
        }
        let parsed = Url::parse(&format!("{scheme}://{authority}/"));
        let origin = parsed.map_err(|error| format!("is no URL: {error}"))?;
        let origin = origin.as_str().trim_end_matches('/').to_owned();
        let segments = path.map(parse_segments).transpose()?.unwrap_or_default();
        let url = Self { origin, segments };
        url.check_path()?;
        Ok(url)
    }

    /// Returns the URL without placeholders; `None` for a URL with any.
    pub(crate) fn to_fixed(&self) -> Option<String> {
        self.fill(&Map::new()).ok()
    }

    /// Returns the scheme, host and port, without a slash at the end.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the names of the arguments, in order.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().flat_map(TextTemplate::arguments)
    }

    /// Checks that no segment is `.` or `..` in any spelling.
    fn check_path(&self) -> Result<(), String> {
        let values = self.arguments().map(|name| (name.to_owned(), Value::from("x")));
        let filled = self.fill(&values.collect()).map_err(|error| error.to_string())?;
        let parsed = Url::parse(&filled).map_err(|error| format!("is no URL: {error}"))?;
        let count = parsed.path_segments().map_or(0, Iterator::count);
        if count == self.segments.len().max(1) {
            Ok(())
        } else {
            Err("has `.` or `..` as a segment of its path".to_owned())
        }
    }

    fn fill(&self, arguments: &Map<String, Value>) -> Result<String, FillError> {
        let mut url = self.origin.clone();
        for segment in &self.segments {
            url.push('/');
            url.push_str(&fill_segment(segment, arguments)?);
        }
        Ok(url)
    }
}

fn parse_segments(path: &str) -> Result<Vec<TextTemplate>, String> {
    let segments = path.split('/').map(|segment| {
        let template =
            TextTemplate::parse(segment).map_err(|problem| format!("is wrong: {problem}"))?;
        if template.find_key().is_some() {
            return Err("has a key: a key may only be in `request.headers`".to_owned());
        }
        let is_encoded = template.pieces().iter().all(|piece| match piece {
            Piece::Text(text) => has_whole_escapes(text),
            Piece::Argument(_) | Piece::Key(_) | Piece::UserKey(_) => true,
        });
        if is_encoded { Ok(template) } else { Err("has a `%` without two hex digits".to_owned()) }
    });
    segments.collect()
}

/// Returns true if two hex digits follow each `%`. Otherwise a value could complete an escape.
fn has_whole_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let digits = rest.bytes().take(2);
        digits.clone().count() == 2 && digits.clone().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn fill_segment(
    template: &TextTemplate,
    arguments: &Map<String, Value>,
) -> Result<String, FillError> {
    let mut segment = String::new();
    for piece in template.pieces() {
        match piece {
            Piece::Text(text) => segment.push_str(text),
            Piece::Argument(name) => {
                let value = arguments.get(name).filter(|value| to_text(value).is_some());
                let value = value.ok_or_else(|| FillError::Missing(name.clone()))?;
                segment.push_str(&encode(&scalar_text(name, value)?));
            }
            Piece::Key(_) | Piece::UserKey(_) => {}
        }
    }
    match template.arguments().next() {
        Some(name) if is_other_path(&segment) => Err(FillError::Segment(name.to_owned())),
        _ => Ok(segment),
    }
}

/// Returns true for a segment that parsers of URLs leave out, with its preceding segment or alone.
fn is_other_path(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain.is_empty() || plain == "." || plain == ".."
}
