//! The tools of runs.

use djinn_core::tool::Risk;
use serde::Serialize;

/// The tools of the caller's runs, in the order of their names.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolListBody {
    /// The tools that runs in the default mode are offered, and the tools that are files but are not offered.
    pub tools: Vec<ToolBody>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolBody {
    /// The name; `server__*` for the tools of a server that is not locked.
    pub name: String,
    /// The description for models; empty for tools of a server that are not accepted.
    pub description: String,
    /// The possible harm of a wrong call.
    pub risk: Risk,
    /// True for a tool that is a file of the configuration folder.
    pub is_file: bool,
    /// True if a call found that the tool's server no longer has the tool, so that the operator must lock the server
    /// again; absent otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_gone: bool,
    /// The reason why no run in the default mode is offered the tool; absent if the runs are offered the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_offered: Option<NotOfferedWord>,
    /// The name of your own key that the tool needs and that you have not set; absent otherwise. A call then asks you.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_key: Option<String>,
}

/// A reason why a run is not offered a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotOfferedWord {
    /// The file disables the tool.
    Disabled,
    /// The file names other modes.
    Mode,
    /// The file names other agents, or the mode has other tools.
    Agent,
    /// The lock file does not have the tool's server at its URL.
    NotLocked,
    /// The tool was rejected when its server was locked.
    RejectedSchema,
}
