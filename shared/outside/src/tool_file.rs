//! The file of an HTTP tool.

mod fields;
mod parameters;
mod request_fields;
mod result_fields;

use djinn_core::id::sha256_hex;
use djinn_core::tool::{EffectClass, Risk, canonical_json};
use djinn_settings::to_json;
use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use crate::answer::{ResultRules, ToolReading};
use crate::problem::ToolFileProblem;
use crate::request::{FillError, OutsideRequest, RequestTemplate};
use fields::{FieldReader, Section, list_choices};

/// Maximum characters of a tool's name: the limit of model providers.
pub const MAX_NAME: usize = 64;

/// Maximum seconds of a call.
pub const MAX_TIMEOUT_S: u32 = 300;

/// Default seconds of a call.
const TIMEOUT_S: u32 = 30;

/// Maximum characters of a description.
const MAX_DESCRIPTION: usize = 1_000;

/// Maximum names in a list of `[offer]`.
const MAX_OFFERED: usize = 100;

/// A tool that is an HTTP request, from a valid file.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpTool {
    /// The name for models: that of the file, without its ending.
    pub name: String,
    /// The description for models.
    pub description: String,
    /// The JSON Schema of the arguments, an object.
    pub parameters: Value,
    /// The effect of a second call (default once).
    pub effect: EffectClass,
    /// The possible harm of a wrong call (default high).
    pub risk: Risk,
    /// The calls that a run makes without approval after it has read untrusted text.
    pub trust: ToolTrust,
    /// The timeout of a call in seconds, at most [`MAX_TIMEOUT_S`] (default 30).
    pub timeout_s: u32,
    /// True if users see the raw result (default false).
    pub is_visible: bool,
    /// False for a tool that no run is offered (default true).
    pub is_enabled: bool,
    /// The runs that are offered the tool (default all).
    pub offer: ToolOffer,
    request: RequestTemplate,
    result: ResultRules,
    sha256: String,
}

/// The calls that a run makes without approval after it has read untrusted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolTrust {
    /// No call.
    None,
    /// Calls of a tool that only reads, with short arguments.
    Reads,
    /// Every call.
    All,
}

/// The runs that are offered a tool. An empty list includes all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOffer {
    /// The ids of tenants.
    pub tenants: Vec<String>,
    /// The names of the modes at the root of a run's tree.
    pub modes: Vec<String>,
    /// The names of agents. With a list, no other agent and no run without an agent is offered the tool.
    pub agents: Vec<String>,
}

/// The fields at the top of a file.
const FIELDS: [&str; 11] = [
    "description",
    "parameters",
    "request",
    "result",
    "effect",
    "risk",
    "trust",
    "timeout_s",
    "visible",
    "enabled",
    "offer",
];

const EFFECTS: [(&str, EffectClass); 3] = [
    ("read", EffectClass::Read),
    ("idempotent", EffectClass::Idempotent),
    ("once", EffectClass::Once),
];

const RISKS: [(&str, Risk); 3] =
    [("low", Risk::Low), ("medium", Risk::Medium), ("high", Risk::High)];

const TRUSTS: [(&str, ToolTrust); 3] =
    [("none", ToolTrust::None), ("reads", ToolTrust::Reads), ("all", ToolTrust::All)];

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
    Err(format!("a tool cannot be called {}: {rule}", fields::quote(name)))
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
        let (table, syntax_errors) = DeTable::parse_recoverable(text);
        for error in syntax_errors {
            let at = error.span().map_or(0, |span| span.start);
            reader.refuse_at(at, error.message());
        }
        if !reader.problems.is_empty() {
            return Err(reader.problems);
        }
        let top = FieldReader::open_top(table.get_ref());
        let tool = read_tool(&mut reader, &top, name);
        let mut problems = reader.problems;
        problems.sort();
        problems.dedup();
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
    reader.check_names(top, &FIELDS);
    let description = read_description(reader, top);
    let parameters = parameters::read_parameters(reader, top);
    let effect = reader.read_choice(top, "effect", &EFFECTS).unwrap_or(EffectClass::Once);
    let risk = reader.read_choice(top, "risk", &RISKS).unwrap_or(Risk::High);
    let trust = reader.read_choice(top, "trust", &TRUSTS);
    if !top.has_field("trust") {
        reader.refuse(1, format!("`trust` is missing: {}", list_choices(&TRUSTS)));
    }
    if trust == Some(ToolTrust::Reads) && effect != EffectClass::Read {
        let rule = "`trust` is \"reads\", but `effect` is not \"read\": no call would pass";
        reader.refuse(reader.line_of(top, "trust"), rule);
    }
    let timeout_s = reader.read_number(top, "timeout_s", MAX_TIMEOUT_S).unwrap_or(TIMEOUT_S);
    let is_visible = reader.read_switch(top, "visible").unwrap_or(false);
    let is_enabled = reader.read_switch(top, "enabled").unwrap_or(true);
    let offer = read_offer(reader, top);
    let request = request_fields::read_request(reader, top, parameters.as_ref(), effect);
    let result = result_fields::read_result(reader, top, name);
    Some(HttpTool {
        name: name.to_owned(),
        description: description?,
        parameters: parameters?,
        effect,
        risk,
        trust: trust?,
        timeout_s,
        is_visible,
        is_enabled,
        offer,
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

fn read_offer<'a>(reader: &mut FieldReader<'a>, top: &Section<'a>) -> ToolOffer {
    let Some(section) = reader.read_section(top, "offer") else { return ToolOffer::default() };
    reader.check_names(&section, &["tenants", "modes", "agents"]);
    let mut read = |name| {
        let names = reader.read_names(&section, name).unwrap_or_default();
        if names.len() > MAX_OFFERED {
            let rule =
                format!("`offer.{name}` has {} names: the limit is {MAX_OFFERED}", names.len());
            reader.refuse(section.line, rule);
        }
        names
    };
    ToolOffer { tenants: read("tenants"), modes: read("modes"), agents: read("agents") }
}

/// Returns the properties of a schema.
fn properties_of(parameters: &Value) -> Option<&Map<String, Value>> {
    parameters.get("properties")?.as_object()
}
