//! The file of an MCP server.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::id::sha256_hex;
use djinn_core::tool::{EffectClass, Risk, canonical_json};
use djinn_settings::to_json;
use djinn_text::near_miss::find_near_miss;
use serde_json::{Value, json};
use toml::de::{DeTable, DeValue};

use crate::definition::{WithheldReason, WithheldTool};
use crate::fields::{FieldReader, Section, quote};
use crate::header_fields::read_headers;
use crate::lock_file::{LockedServer, LockedTool};
use crate::mcp_tool::McpTool;
use crate::problem::ToolFileProblem;
use crate::request::{OutsideHeader, UrlTemplate, list_keys, to_headers};
use crate::template::TextTemplate;
use crate::terms::{TERM_FIELDS, TermFields, ToolOffer, ToolTrust, read_offer, read_trust};

/// Maximum characters of a server's name: the name of a tool begins with it.
const MAX_SERVER_NAME: usize = 30;

/// Maximum tools that a file has fields for.
const MAX_NAMED_TOOLS: usize = 500;

/// The fields at the top of a file, besides those of [`TermFields`].
const FIELDS: [&str; 6] = ["url", "headers", "trust", "trust_hints", "offer", "tools"];

/// Headers of the protocol.
const PROTOCOL_HEADERS: [&str; 2] = ["accept", "last-event-id"];

/// An MCP server, from a valid file `tools/servers/NAME.toml`. Its tools are those of the lock file.
#[derive(Debug, Clone, PartialEq)]
pub struct McpServer {
    /// The name: that of the file, without its ending.
    pub name: String,
    /// The URL of the server, without user, query and fragment.
    pub url: String,
    /// The headers of every request, with the names of keys.
    pub headers: Vec<OutsideHeader>,
    /// The calls that a run makes without approval after it has read untrusted text.
    pub trust: ToolTrust,
    /// True if the server's own hints decide about effect and risk where the file leaves them open (default false).
    pub trusts_hints: bool,
    /// The runs that are offered the server's tools (default all).
    pub offer: ToolOffer,
    header_fields: Vec<(String, TextTemplate)>,
    /// The headers as the file has them.
    header_source: Value,
    defaults: TermFields,
    tools: BTreeMap<String, NamedTool>,
    path: String,
}

/// The fields of `[tools.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedTool {
    line: usize,
    terms: TermFields,
}

/// The rule for a server that a client starts as its child.
const NO_STDIO: &str = "`command` would start the server on this machine, and a deployment has no machine for it: start \
                        the server yourself, over HTTP or with a bridge from stdio, and set `url`";

/// Checks the name of a server: 1 to 30 lower-case letters, digits and single underscores, with a letter first and no
/// underscore last. The names of its tools then have one reading: `server__tool`.
///
/// # Errors
/// Returns the rule as a sentence without its full stop.
pub fn check_server_name(name: &str) -> Result<(), String> {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let starts_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    let has_one_reading = !name.contains("__") && !name.ends_with('_');
    let is_short = name.len() <= MAX_SERVER_NAME;
    if starts_well && has_one_reading && is_short && name.bytes().all(is_allowed) {
        return Ok(());
    }
    let rule = "use 1 to 30 lower-case letters, digits and single _, begin with a letter, and do not end with _";
    Err(format!("a server cannot be called {}: {rule}", quote(name)))
}

impl McpServer {
    /// Reads the `text` of the file at `path`, which describes the server called `name`.
    ///
    /// # Errors
    /// Returns all problems, in the order of the file.
    pub fn read(name: &str, path: &str, text: &str) -> Result<Self, Vec<ToolFileProblem>> {
        let mut reader = FieldReader::new(path, text);
        if let Err(rule) = check_server_name(name) {
            reader.refuse(1, rule);
        }
        let table = reader.parse_table();
        if !reader.problems.is_empty() {
            return Err(reader.problems);
        }
        let server = read_server(&mut reader, &FieldReader::open_top(table.get_ref()), name);
        let problems = reader.into_problems();
        let Some(mut server) = server.filter(|_| problems.is_empty()) else { return Err(problems) };
        server.header_source = find_headers(table.get_ref());
        path.clone_into(&mut server.path);
        Ok(server)
    }

    /// Returns the names of the operator's keys in the headers, each once.
    #[must_use]
    pub fn key_names(&self) -> Vec<&str> {
        list_keys(&self.header_fields)
    }

    /// Returns a problem for each `[tools.NAME]` that is no tool of the locked server. A misspelt name would leave the
    /// meant tool as it is.
    #[must_use]
    pub fn check_tools(&self, locked: &LockedServer) -> Vec<ToolFileProblem> {
        let names: BTreeSet<&str> =
            locked.tools.keys().chain(locked.rejected.keys()).map(String::as_str).collect();
        let unknown = self.tools.iter().filter(|(name, _)| !names.contains(name.as_str()));
        let problems = unknown.map(|(name, tool)| {
            let nearest = find_near_miss(name, names.iter().copied());
            let hint = nearest.map(|nearest| format!(": did you mean {}?", quote(nearest)));
            let hint = hint.unwrap_or_default();
            let rule = format!(
                "`tools` has {}, which is no tool of the server in the lock file{hint}",
                quote(name)
            );
            ToolFileProblem { path: self.path.clone(), line: tool.line, rule }
        });
        problems.collect()
    }

    /// Returns the tools of the server as it was locked, disabled tools included, in the order of their own names.
    #[must_use]
    pub fn list_tools(&self, locked: &LockedServer) -> Vec<McpTool> {
        let tools = locked.tools.iter();
        tools.map(|(name, tool)| self.create_tool(name, locked, tool)).collect()
    }

    /// Returns the tools that no run is offered: those that were rejected when the server was locked, or all of a server
    /// that is not locked.
    #[must_use]
    pub fn list_withheld(&self, locked: Option<&LockedServer>) -> Vec<WithheldTool> {
        let withhold = |name, reason| WithheldTool {
            name,
            server: self.name.clone(),
            reason,
            offer: self.offer.clone(),
        };
        let Some(locked) = locked else {
            return vec![withhold(format!("{}__*", self.name), WithheldReason::NotLocked)];
        };
        let names = locked.rejected.keys();
        let names = names.map(|name| djinn_schema::tool_name(&self.name, name));
        names.map(|name| withhold(name, WithheldReason::RejectedSchema)).collect()
    }

    fn create_tool(&self, name: &str, locked: &LockedServer, tool: &LockedTool) -> McpTool {
        let own = self.tools.get(name).map(|tool| tool.terms).unwrap_or_default();
        let hints = if self.trusts_hints { read_hints(tool) } else { TermFields::default() };
        let terms = own.or(self.defaults).or(hints);
        let terms = terms.with_defaults(self.trust, self.offer.clone());
        let sources = json!({
            "server": self.name,
            "tool": name,
            "definition": tool.sha256,
            "shown": tool.shown,
            "url": self.url,
            "headers": self.header_source,
            "transport": locked.transport,
            "revision": locked.revision,
            "trust": terms.trust.as_str(),
            "effect": terms.effect,
            "risk": terms.risk,
            "timeout_s": terms.timeout_s,
        });
        McpTool {
            name: djinn_schema::tool_name(&self.name, name),
            server: self.name.clone(),
            own_name: name.to_owned(),
            description: tool.definition.clean_description(),
            parameters: tool.definition.input_schema.clone(),
            shown: tool.shown.clone(),
            terms,
            url: self.url.clone(),
            headers: self.headers.clone(),
            transport: locked.transport,
            revision: locked.revision.clone(),
            sha256: sha256_hex(canonical_json(&sources).as_bytes()),
        }
    }
}

fn read_server<'a>(
    reader: &mut FieldReader<'a>,
    top: &Section<'a>,
    name: &str,
) -> Option<McpServer> {
    let fields: Vec<&str> = FIELDS.iter().chain(&TERM_FIELDS).copied().collect();
    if top.has_field("command") {
        let line = reader.line_of(top, "command");
        reader.refuse(line, NO_STDIO);
        return None;
    }
    reader.check_names(top, &fields);
    let url = read_url(reader, top);
    let header_fields = read_headers(reader, top, |name| {
        PROTOCOL_HEADERS.contains(&name) || name.starts_with("mcp-")
    });
    let trust = read_trust(reader, top);
    let trusts_hints = reader.read_switch(top, "trust_hints").unwrap_or(false);
    let defaults = TermFields::read(reader, top);
    let offer = read_offer(reader, top);
    let tools = read_tools(reader, top);
    Some(McpServer {
        name: name.to_owned(),
        url: url?,
        headers: to_headers(&header_fields),
        trust: trust?,
        trusts_hints,
        offer,
        header_fields,
        header_source: Value::Null,
        defaults,
        tools,
        path: String::new(),
    })
}

fn read_url<'a>(reader: &mut FieldReader<'a>, top: &Section<'a>) -> Option<String> {
    const ACCEPTED: &str = "a URL that begins with https:// or http://";
    if !top.has_field("url") {
        reader.refuse(1, format!("`url` is missing: {ACCEPTED}"));
    }
    let text = reader.read_text(top, "url", ACCEPTED)?;
    let url = match UrlTemplate::parse(&text.value) {
        Err(_) if text.value.contains('?') => {
            Err("has a query, which a server's URL cannot have".to_owned())
        }
        Err(problem) => Err(problem),
        Ok(url) => url.to_fixed().ok_or_else(|| "has a placeholder".to_owned()),
    };
    url.map_err(|problem| reader.refuse(text.line, format!("`url` {problem}"))).ok()
}

fn read_tools<'a>(reader: &mut FieldReader<'a>, top: &Section<'a>) -> BTreeMap<String, NamedTool> {
    let Some(section) = reader.read_section(top, "tools") else { return BTreeMap::new() };
    let names = section.names();
    if names.len() > MAX_NAMED_TOOLS {
        let rule = format!("`tools` has {} tools: the limit is {MAX_NAMED_TOOLS}", names.len());
        reader.refuse(section.line, rule);
    }
    let mut tools = BTreeMap::new();
    for name in names {
        let Some(tool) = reader.read_section(&section, &name) else { continue };
        reader.check_names(&tool, &TERM_FIELDS);
        let terms = TermFields::read(reader, &tool);
        if terms == TermFields::default() {
            let rule = format!("`{}` sets nothing", section.join_path(&name));
            reader.refuse(tool.line, rule);
        }
        tools.insert(name, NamedTool { line: tool.line, terms });
    }
    tools
}

/// Returns the effect and risk that the server's hints claim.
fn read_hints(tool: &LockedTool) -> TermFields {
    let hint = |name: &str| {
        let hints = tool.definition.annotations.as_ref();
        hints.and_then(|hints| hints.get(name)?.as_bool())
    };
    let (effect, risk) = if hint("readOnlyHint") == Some(true) {
        (Some(EffectClass::Read), Some(Risk::Low))
    } else {
        let is_idempotent = hint("idempotentHint") == Some(true);
        let adds_only = hint("destructiveHint") == Some(false);
        (is_idempotent.then_some(EffectClass::Idempotent), adds_only.then_some(Risk::Medium))
    };
    TermFields { effect, risk, ..TermFields::default() }
}

fn find_headers(table: &DeTable<'_>) -> Value {
    let table = to_json(&DeValue::Table(table.clone())).unwrap_or_default();
    table.get("headers").cloned().unwrap_or_default()
}
