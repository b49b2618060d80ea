//! The call of a tool that is a file, `tools/NAME.toml`.

use djinn_core::human::Interrupt;
use djinn_outside::ToolProblem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoredUserKey;
use crate::port::payload::base64_bytes;

/// A job: the call of a tool that is a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolJob {
    /// The name of the tool.
    pub tool: String,
    /// The definition that the run was offered: [`djinn_outside::HttpTool::sha256`]. A gateway with another
    /// definition sends no request.
    pub definition: String,
    /// The arguments, an object that is valid for the tool's parameters.
    pub arguments: Value,
    /// The key by which the server recognises a repeat of the call.
    pub idempotency_key: String,
    /// The caller's key, if the tool needs one and the caller has set it. A gateway opens the key only for the
    /// key's name and the origin in its own definition of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_key: Option<StoredUserKey>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolAnswer {
    /// The server answered.
    Done {
        /// The text for the model. Anybody may have written the content.
        text: String,
        /// The files of the result.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<ToolAnswerFile>,
    },
    /// The call failed.
    Failed(ToolProblem),
    /// Nothing was done, and a user can remove the cause.
    Interrupted(Interrupt),
}

/// A file that a tool returned.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolAnswerFile {
    /// The name in the tool's file, or the tool's name without an ending.
    pub name: String,
    /// The media type, if the tool's file or the server names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// All bytes of the file.
    #[serde(with = "base64_bytes")]
    pub content: Vec<u8>,
}

impl std::fmt::Debug for ToolAnswerFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.content.len())
    }
}
