//! Requests of JoyAgent's clients.

mod feedback;
mod file;

pub use feedback::{FeedbackRequest, FeedbackWords};
pub use file::{AnnounceRequest, FileListRequest, FileRequest, UploadRequest};

use serde::Deserialize;

use super::attachment::{JoyAgentFile, JoyAgentMessage};
use super::human::HumanSettingsRequest;
use super::value::{WholeNumber, optional_text};

/// A question of JoyAgent's raw protocol or web page.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JoyAgentRequest {
    /// The question, at most 64 KB.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub query: Option<String>,
    /// The question's session.
    #[serde(default, deserialize_with = "optional_text")]
    pub session_id: Option<String>,
    /// Your id for the request.
    #[serde(default, deserialize_with = "optional_text")]
    pub request_id: Option<String>,
    /// 5 for `ReAct`, 3 for a plan. Read only in the raw protocol.
    pub agent_type: Option<WholeNumber>,
    /// 0 for `ReAct`, any other number for a plan. Read only from the web page.
    pub deep_think: Option<WholeNumber>,
    /// True if pieces of unfinished messages are sent. Read only in the raw protocol.
    pub is_stream: Option<bool>,
    /// The form of the answer; unknown words have no effect.
    #[serde(default, deserialize_with = "optional_text")]
    pub output_style: Option<String>,
    /// Instructions for this question.
    #[serde(default, deserialize_with = "optional_text")]
    pub base_prompt: Option<String>,
    /// The attached files, at most 100, including at most 20 images.
    pub files: Option<Vec<JoyAgentFile>>,
    /// The same as `files`.
    pub attachments: Option<Vec<JoyAgentFile>>,
    /// The conversation. Only the files are read.
    pub messages: Option<Vec<JoyAgentMessage>>,
    /// The settings for human requests.
    pub human_feedback: Option<HumanSettingsRequest>,
}

/// A data question of JoyAgent's web page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataRequest {
    /// The question, at most 64 KB.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub content: Option<String>,
    /// Your id for the request. A repeat with the same id and question returns the same run.
    #[serde(default, rename = "traceId", deserialize_with = "optional_text")]
    pub trace_id: Option<String>,
}

/// The parameters of a preview of JoyAgent's data page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DataPreviewQuery {
    /// The name of a table.
    #[cfg_attr(feature = "schema", schemars(required))]
    #[serde(rename = "modelCode")]
    pub model_code: Option<String>,
}
