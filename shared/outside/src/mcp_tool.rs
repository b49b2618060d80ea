//! A tool of an MCP server.

use std::collections::BTreeSet;

use djinn_core::human::NeededKey;
use djinn_schema::ShownSchema;
use serde_json::Value;
use url::Url;

use crate::lock_file::ServerTransport;
use crate::request::{HeaderPart, OutsideHeader};
use crate::terms::ToolTerms;

/// A tool of a server's file, as it was locked.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    /// The name for models: `server__tool`, shortened with a hash where a provider needs it.
    pub name: String,
    /// The name of the server.
    pub server: String,
    /// The server's own name of the tool.
    pub own_name: String,
    /// The server's description, or the title, at most 1 000 characters without invisible ones; may be empty.
    /// Anybody may have written it.
    pub description: String,
    /// The JSON Schema of the arguments as the server wrote it.
    pub parameters: Value,
    /// The parameters as models see them.
    pub shown: ShownSchema,
    /// The runs that are offered the tool, and the rules for its calls.
    pub terms: ToolTerms,
    /// The URL of the server.
    pub url: String,
    /// The headers of every request, with the names of keys.
    pub headers: Vec<OutsideHeader>,
    /// The transport found by locking.
    pub transport: ServerTransport,
    /// The protocol revision found by locking, such as `2025-11-25`.
    pub revision: String,
    pub(crate) sha256: String,
}

impl McpTool {
    /// Returns the names of the operator's keys in the headers, each once.
    #[must_use]
    pub fn key_names(&self) -> Vec<&str> {
        let parts = self.headers.iter().flat_map(|header| &header.value);
        let names = parts.filter_map(|part| match part {
            HeaderPart::Key(name) => Some(name.as_str()),
            HeaderPart::Text(_) | HeaderPart::UserKey(_) => None,
        });
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the caller's key that every request needs, with the origin of the server.
    #[must_use]
    pub fn needed_key(&self) -> Option<NeededKey> {
        let mut parts = self.headers.iter().flat_map(|header| &header.value);
        let name = parts.find_map(|part| match part {
            HeaderPart::UserKey(name) => Some(name.clone()),
            HeaderPart::Text(_) | HeaderPart::Key(_) => None,
        })?;
        let origin = Url::parse(&self.url).ok()?.origin().ascii_serialization();
        Some(NeededKey { name, origin })
    }

    /// Returns the SHA-256, in lower-case hex, of the locked definition, its shown form, and everything in the server's
    /// file that decides where and how a call is sent.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}
