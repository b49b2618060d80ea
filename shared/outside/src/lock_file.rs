//! The lock file: the tools of MCP servers as the operator accepted them.

use std::collections::{BTreeMap, BTreeSet};

use djinn_core::id::sha256_hex;
use djinn_core::tool::canonical_json;
use djinn_schema::{OriginalSchema, ShownSchema, clean_description, shown_form, tool_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::problem::ToolFileProblem;
use crate::server_file::{McpServer, check_server_name};

/// The version of the format.
const VERSION: u32 = 1;

/// Maximum characters of a tool's own name.
const MAX_OWN_NAME: usize = 256;

/// Maximum bytes of a definition.
const MAX_DEFINITION: usize = 64 * 1024;

/// Maximum accepted tools of a server.
const MAX_TOOLS: usize = 500;

/// Maximum characters of a foreign text in a reason.
const MAX_REASON: usize = 300;

/// The file `tools/servers.lock.json`. `cargo xtask tools lock` writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    /// The version of the format.
    version: u32,
    /// The servers by name.
    pub servers: BTreeMap<String, LockedServer>,
}

/// A server as it was locked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedServer {
    /// The URL in the server's file at that time.
    pub url: String,
    /// The transport that the server speaks.
    pub transport: ServerTransport,
    /// The protocol revision that the server chose, such as `2025-11-25`.
    pub revision: String,
    /// The accepted tools by their own names.
    pub tools: BTreeMap<String, LockedTool>,
    /// The reasons against the other tools, by their own names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rejected: BTreeMap<String, String>,
}

/// An accepted tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedTool {
    /// The definition as the server sent it.
    pub definition: McpDefinition,
    /// The parameters as models see them.
    pub shown: ShownSchema,
    /// The [`McpDefinition::sha256`].
    pub sha256: String,
}

/// The definition of a tool by its server. Fields that are not listed here do not reach models and are dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpDefinition {
    /// The server's own name of the tool.
    pub name: String,
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// The server's hints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
}

/// The transport of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerTransport {
    /// Streamable HTTP, of the revisions from 2025-03-26 on.
    StreamableHttp,
    /// HTTP with server-sent events, of the revision 2024-11-05.
    Sse,
}

impl Default for LockFile {
    fn default() -> Self {
        Self { version: VERSION, servers: BTreeMap::new() }
    }
}

impl LockFile {
    /// Reads the `text` of the file at `path`.
    ///
    /// # Errors
    /// Returns the first problem of the form, or else all problems of the content.
    pub fn read(path: &str, text: &str) -> Result<Self, Vec<ToolFileProblem>> {
        let problem = |line, rule| ToolFileProblem { path: path.to_owned(), line, rule };
        let file: Self = serde_json::from_str(text).map_err(|error| {
            let rule = format!("it is no lock file: {error}: lock the servers again");
            vec![problem(error.line().max(1), rule)]
        })?;
        if file.version != VERSION {
            let rule =
                format!("`version` is {}, not {VERSION}: lock the servers again", file.version);
            return Err(vec![problem(line_of(text, "\"version\""), rule)]);
        }
        let mut problems = Vec::new();
        for (name, server) in &file.servers {
            let line = line_of(text, &format!("{}:", Value::from(name.as_str())));
            if let Err(rule) = check_server_name(name) {
                problems.push(problem(line, rule));
            }
            if server.revision.is_empty() {
                problems.push(problem(line, format!("`{name}` has no `revision`")));
            }
            for (tool_name, tool) in &server.tools {
                if let Some(rule) = tool.find_problem(tool_name) {
                    let line = line_of(text, &tool.sha256).max(line);
                    problems
                        .push(problem(line, format!("`{name}`: {rule}: lock the server again")));
                }
            }
        }
        if problems.is_empty() { Ok(file) } else { Err(problems) }
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        // A map with texts as keys has a form in JSON.
        serde_json::to_string_pretty(self).map(|text| text + "\n").unwrap_or_default()
    }

    /// Returns the entry of a server, unless its URL is another.
    #[must_use]
    pub fn find_server(&self, server: &McpServer) -> Option<&LockedServer> {
        self.servers.get(&server.name).filter(|locked| locked.url == server.url)
    }
}

impl LockedServer {
    /// Creates the entry of a server from its list of tools, each of them a definition or the reason why it cannot be
    /// read. A tool that cannot be offered is rejected, and the others are kept.
    #[must_use]
    pub fn from_listing(
        server: &McpServer,
        transport: ServerTransport,
        revision: &str,
        listing: &[Result<Value, String>],
    ) -> Self {
        let mut tools: BTreeMap<String, LockedTool> = BTreeMap::new();
        let mut rejected = BTreeMap::new();
        let mut offered = BTreeSet::new();
        for (index, item) in listing.iter().enumerate() {
            let own_name = item.as_ref().ok().and_then(|value| value.get("name")?.as_str());
            let name = own_name.map_or_else(|| format!("#{}", index + 1), short_name);
            let tool = match item {
                Ok(definition) => LockedTool::from_definition(definition),
                Err(reason) => Err(reason.clone()),
            };
            let tool = tool.and_then(|tool| {
                if tools.len() >= MAX_TOOLS {
                    Err(format!("the server has more than {MAX_TOOLS} tools"))
                } else if offered.insert(tool_name(&server.name, &tool.definition.name)) {
                    Ok(tool)
                } else {
                    Err("another tool of the server has this name".to_owned())
                }
            });
            match tool {
                Ok(tool) => drop(tools.insert(tool.definition.name.clone(), tool)),
                Err(reason) => drop(rejected.insert(name, short_reason(&reason))),
            }
        }
        rejected.retain(|name, _| !tools.contains_key(name));
        Self { url: server.url.clone(), transport, revision: revision.to_owned(), tools, rejected }
    }
}

impl LockedTool {
    /// Creates the entry of a definition that a server sent.
    ///
    /// # Errors
    /// Returns the reason why the tool cannot be offered.
    pub fn from_definition(definition: &Value) -> Result<Self, String> {
        let definition = McpDefinition::read(definition)?;
        let shown = shown_form(&definition.input_schema).map_err(|problem| problem.to_string())?;
        OriginalSchema::compile(&definition.input_schema).map_err(|problem| problem.to_string())?;
        let sha256 = definition.sha256();
        Ok(Self { definition, shown, sha256 })
    }

    /// Returns the problem of an entry that was not written by locking.
    fn find_problem(&self, name: &str) -> Option<String> {
        let own_name = &self.definition.name;
        if own_name != name {
            return Some(format!("the definition of `{name}` is that of `{own_name}`"));
        }
        if self.sha256 != self.definition.sha256() {
            return Some(format!("the definition of `{name}` has another SHA-256"));
        }
        if self.shown.schema.get("type").and_then(Value::as_str) != Some("object") {
            return Some(format!("the shown form of `{name}` is no object"));
        }
        let problem = OriginalSchema::compile(&self.definition.input_schema).err()?;
        Some(format!("`{name}` cannot be used: {problem}"))
    }
}

impl McpDefinition {
    /// Reads a definition that a server sent.
    ///
    /// # Errors
    /// Returns the reason why it is no definition.
    pub fn read(value: &Value) -> Result<Self, String> {
        let definition =
            Self::deserialize(value).map_err(|error| format!("it is no definition: {error}"))?;
        let length = definition.name.chars().count();
        if definition.name.trim().is_empty() {
            return Err("it has no name".to_owned());
        }
        if length > MAX_OWN_NAME {
            return Err(format!("its name has more than {MAX_OWN_NAME} characters"));
        }
        if !definition.input_schema.is_object() {
            return Err("`inputSchema` is no object".to_owned());
        }
        if definition.to_canonical().len() > MAX_DEFINITION {
            return Err(format!("the definition has more than {MAX_DEFINITION} bytes"));
        }
        Ok(definition)
    }

    /// Returns the SHA-256 of the definition, in lower-case hex. The order of fields does not change it.
    #[must_use]
    pub fn sha256(&self) -> String {
        sha256_hex(self.to_canonical().as_bytes())
    }

    /// Returns the description for models, or else the title.
    pub(crate) fn clean_description(&self) -> String {
        let description = clean_description(self.description.as_deref().unwrap_or_default());
        if description.is_empty() {
            clean_description(self.title.as_deref().unwrap_or_default())
        } else {
            description
        }
    }

    fn to_canonical(&self) -> String {
        canonical_json(&serde_json::to_value(self).unwrap_or_default())
    }
}

/// Returns the line of the first occurrence of a text, from 1.
fn line_of(text: &str, part: &str) -> usize {
    text.split_once(part).map_or(1, |(before, _)| before.matches('\n').count() + 1)
}

fn short_name(name: &str) -> String {
    name.chars().take(MAX_OWN_NAME).collect()
}

fn short_reason(reason: &str) -> String {
    clean_description(reason).chars().take(MAX_REASON).collect()
}
