//! Responses of the MCP server.

use serde::Serialize;
use serde_json::{Map, Value};

/// The answer to a request in the form of JSON-RPC 2.0: a result or an error.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct McpAnswerBody {
    /// `2.0`.
    pub jsonrpc: &'static str,
    /// The id of the request; null if the request has no valid id.
    pub id: Value,
    /// The result of the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Map<String, Value>>,
    /// The error, with the fields `code`, `message` and `data`; `data` has the form of other errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Map<String, Value>>,
}

/// The place where clients of the MCP server get their tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProtectedResourceBody<'a> {
    /// The URL of the MCP server.
    pub resource: String,
    /// The issuer of the accepted tokens.
    pub authorization_servers: [&'a str; 1],
    /// `header`: tokens are sent in `Authorization`.
    pub bearer_methods_supported: [&'static str; 1],
    /// The name of the server for users.
    pub resource_name: &'static str,
}
