//! A message of an MCP client, and the arguments of the server's tools.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::value::{WholeNumber, optional_text};

/// A message in the form of JSON-RPC 2.0. The specification of MCP has the details.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct McpMessageRequest {
    /// `2.0`.
    pub jsonrpc: String,
    /// A text or a whole number; absent for a notification.
    pub id: Option<Value>,
    /// `server/discover`, `initialize`, `ping`, `tools/list` or `tools/call`.
    pub method: String,
    /// The parameters of the method.
    pub params: Option<Map<String, Value>>,
}

/// The arguments of the tool `ask`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct McpAskArguments {
    /// The question.
    #[serde(default, deserialize_with = "optional_text")]
    pub question: Option<String>,
    /// The name of the mode.
    #[serde(default, deserialize_with = "optional_text")]
    pub mode: Option<String>,
    /// The session.
    #[serde(default, deserialize_with = "optional_text")]
    pub session: Option<String>,
    /// The longest wait in seconds.
    pub wait_s: Option<WholeNumber>,
}

/// The arguments of the tool `look`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct McpLookArguments {
    /// The id of the run.
    pub run: String,
    /// The longest wait in seconds.
    pub wait_s: Option<WholeNumber>,
}

/// The arguments of the tool `say`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct McpSayArguments {
    /// The id of the run.
    pub run: String,
    /// The answer or the message.
    pub text: String,
}

/// The arguments of the tool `stop`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct McpStopArguments {
    /// The id of the run.
    pub run: String,
}
