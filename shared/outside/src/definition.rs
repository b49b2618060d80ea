//! Tools of both kinds of files.

use std::sync::Arc;

use djinn_core::human::NeededKey;
use serde_json::Value;

use crate::mcp_tool::McpTool;
use crate::terms::{ToolOffer, ToolTerms};
use crate::tool_file::HttpTool;

/// A tool that is a file.
#[derive(Debug, Clone)]
pub enum OutsideDefinition {
    /// An HTTP request, of a file of its own.
    Http(Arc<HttpTool>),
    /// A tool of an MCP server, of the server's file and the lock file.
    Mcp(Arc<McpTool>),
}

impl OutsideDefinition {
    /// Returns the name for models.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Http(tool) => &tool.name,
            Self::Mcp(tool) => &tool.name,
        }
    }

    /// Returns the JSON Schema of the arguments as its author wrote it.
    #[must_use]
    pub fn parameters(&self) -> &Value {
        match self {
            Self::Http(tool) => &tool.parameters,
            Self::Mcp(tool) => &tool.parameters,
        }
    }

    /// Returns the runs that are offered the tool, and the rules for its calls.
    #[must_use]
    pub fn terms(&self) -> &ToolTerms {
        match self {
            Self::Http(tool) => &tool.terms,
            Self::Mcp(tool) => &tool.terms,
        }
    }

    /// Returns the names of the operator's keys in the headers, each once.
    #[must_use]
    pub fn key_names(&self) -> Vec<&str> {
        match self {
            Self::Http(tool) => tool.key_names(),
            Self::Mcp(tool) => tool.key_names(),
        }
    }

    /// Returns the caller's key that every call needs, with the only origin that receives the key.
    #[must_use]
    pub fn needed_key(&self) -> Option<NeededKey> {
        match self {
            Self::Http(tool) => tool.needed_key(),
            Self::Mcp(tool) => tool.needed_key(),
        }
    }

    /// Returns the hash by which the gateway recognises the definition that a run was offered.
    #[must_use]
    pub fn sha256(&self) -> &str {
        match self {
            Self::Http(tool) => tool.sha256(),
            Self::Mcp(tool) => tool.sha256(),
        }
    }
}

/// Tools of a server that no run is offered, because of the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithheldTool {
    /// The name for models, or `server__*` for all tools of a server.
    pub name: String,
    /// The name of the server.
    pub server: String,
    /// The reason.
    pub reason: WithheldReason,
    /// The runs that would be offered the tool.
    pub offer: ToolOffer,
}

/// The reason why no run is offered a tool of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithheldReason {
    /// The lock file has no entry for the server at its URL.
    NotLocked,
    /// The tool was rejected when the server was locked.
    RejectedSchema,
}
