//! The file of an HTTP tool.

mod parameters;
mod request_fields;
mod result_fields;

use djinn_core::human::NeededKey;
use djinn_core::id::{KeyName, sha256_hex};
use djinn_core::tool::{EffectClass, canonical_json};
use djinn_settings::to_json;
use serde_json::{Map, Value};
use toml::de::DeValue;

use crate::answer::{ResultRules, ToolReading};
use crate::fields::{FieldReader, Section, quote};
use crate::problem::ToolFileProblem;
use crate::request::{FillError, OutsideRequest, RequestTemplate};
use crate::terms::{TERM_FIELDS, TermFields, ToolTerms, ToolTrust, read_offer, read_trust};

/// Maximum characters of a tool's name: the limit of model providers.
pub const MAX_NAME: usize = 64;

/// Maximum characters of a description.
const MAX_DESCRIPTION: usize = 1_000;

/// A tool that is an HTTP request, from a valid file.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpTool {
    /// The name for models: that of the file, without its ending.
    pub name: String,
    /// The description for models.
    pub description: String,
    /// The JSON Schema of the arguments, an object.
    pub parameters: Value,
    /// The runs that are offered the tool, and the rules for its calls.
    pub terms: ToolTerms,
    request: RequestTemplate,
    result: ResultRules,
    sha256: String,
}

/// The fields at the top of a file, besides those of [`TermFields`].
const FIELDS: [&str; 6] = ["description", "parameters", "request", "result", "trust", "offer"];

/// Checks the name of a tool: 1 to [`MAX_NAME`] lower-case letters, digits and underscores, with a letter first.
///
/// # Errors
/// Returns the rule as a sentence without its full stop.
pub fn check_tool_name(name: &str) -> Result<(), String> {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if starts_well && name.len() <= MAX_NAME && name.bytes().all(is_allowed) {
        return Ok(());
    }
    let rule = "use 1 to 64 lower-case letters, digits and _, and begin with a letter";
    Err(format!("a tool cannot be called {}: {rule}", quote(name)))
}

impl HttpTool {
    /// Reads the `text` of the file at `path`, which defines the tool called `name`.
    ///
    /// # Errors
    /// Returns all problems, in the order of the file.
    pub fn read(name: &str, path: &str, text: &str) -> Result<Self, Vec<ToolFileProblem>> {
        let mut reader = FieldReader::new(path, text);
        if let Err(rule) = check_tool_name(name) {
            reader.refuse(1, rule);
        }
        let table = reader.parse_table();
        if !reader.problems.is_empty() {
            return Err(reader.problems);
        }
        let top = FieldReader::open_top(table.get_ref());
        let tool = read_tool(&mut reader, &top, name);
        let problems = reader.into_problems();
        let Some(mut tool) = tool.filter(|_| problems.is_empty()) else { return Err(problems) };
        let definition = to_json(&DeValue::Table(table.get_ref().clone())).unwrap_or_default();
        tool.sha256 = sha256_hex(format!("{name} {}", canonical_json(&definition)).as_bytes());
        Ok(tool)
    }

    /// Returns the SHA-256 of the name and all fields, in lower-case hex. Comments and order do not change it.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns the names of the operator's keys in the request's headers, each once.
    #[must_use]
    pub fn key_names(&self) -> Vec<&str> {
        self.request.key_names()
    }

    /// Returns the name of the caller's key in the request's headers. A file has one at most.
    #[must_use]
    pub fn user_key(&self) -> Option<&KeyName> {
        self.request.user_key()
    }

    /// Returns the caller's key that all requests need, with the origin that receives the key.
    #[must_use]
    pub fn needed_key(&self) -> Option<NeededKey> {
        let name = self.user_key()?.clone();
        Some(NeededKey { name, origin: self.origin().to_owned() })
    }

    /// Returns the scheme, host and port of all requests, without a slash at the end. No argument changes them.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.request.url.origin()
    }

    /// Returns the request of a call. No value can change the method, the origin, a header, or the structure of the
    /// path, the query or the body.
    ///
    /// # Errors
    /// Returns [`FillError`] for arguments that fit into no request.
    pub fn fill(&self, arguments: &Value) -> Result<OutsideRequest, FillError> {
        self.request.fill(arguments)
    }

    /// Reads the answer of the server. Never fails: an unexpected answer is [`ToolReading::Failed`].
    #[must_use]
    pub fn read_answer(&self, status: u16, content_type: Option<&str>, body: &[u8]) -> ToolReading {
        self.result.read_answer(status, content_type, body)
    }
}

fn read_tool<'a>(reader: &mut FieldReader<'a>, top: &Section<'a>, name: &str) -> Option<HttpTool> {
    let names: Vec<&str> = FIELDS.iter().chain(&TERM_FIELDS).copied().collect();
    reader.check_names(top, &names);
    let description = read_description(reader, top);
    let parameters = parameters::read_parameters(reader, top);
    let fields = TermFields::read(reader, top);
    let effect = fields.effect.unwrap_or(EffectClass::Once);
    let trust = read_trust(reader, top);
    if trust == Some(ToolTrust::Reads) && effect != EffectClass::Read {
        let rule = "`trust` is \"reads\", but `effect` is not \"read\": no call would pass";
        reader.refuse(reader.line_of(top, "trust"), rule);
    }
    let offer = read_offer(reader, top);
    let request = request_fields::read_request(reader, top, parameters.as_ref(), effect);
    let result = result_fields::read_result(reader, top, name);
    Some(HttpTool {
        name: name.to_owned(),
        description: description?,
        parameters: parameters?,
        terms: fields.with_defaults(trust?, offer),
        request: request?,
        result,
        sha256: String::new(),
    })
}

fn read_description<'a>(reader: &mut FieldReader<'a>, top: &Section<'a>) -> Option<String> {
    const ACCEPTED: &str = "a text of at most 1000 characters";
    if !top.has_field("description") {
        reader.refuse(1, format!("`description` is missing: {ACCEPTED}"));
    }
    let description = reader.read_text(top, "description", ACCEPTED)?;
    let characters = description.value.chars().count();
    if characters > MAX_DESCRIPTION {
        let rule = format!("`description` must be {ACCEPTED}, got {characters} characters");
        reader.refuse(description.line, rule);
    }
    Some(description.value.trim().to_owned())
}

/// Returns the properties of a schema.
fn properties_of(parameters: &Value) -> Option<&Map<String, Value>> {
    parameters.get("properties")?.as_object()
}
