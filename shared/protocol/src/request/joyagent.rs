//! Requests of JoyAgent's clients.

use serde::Deserialize;

use super::attachment::{JoyAgentFile, JoyAgentMessage};
use super::human::HumanFeedbackRequest;
use super::value::{WholeNumber, optional_text};

/// A question of JoyAgent's raw protocol.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct JoyAgentRequest {
    /// The question, at most 64 KB.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub query: Option<String>,
    /// The session it belongs to.
    #[serde(default, deserialize_with = "optional_text")]
    pub session_id: Option<String>,
    /// Your name for the request.
    #[serde(default, deserialize_with = "optional_text")]
    pub request_id: Option<String>,
    /// 5 for `ReAct`, 3 for a plan.
    pub agent_type: Option<WholeNumber>,
    /// Whether pieces of unfinished messages are sent.
    pub is_stream: Option<bool>,
    /// The form of the answer; words that are none of ours add nothing.
    #[serde(default, deserialize_with = "optional_text")]
    pub output_style: Option<String>,
    /// Instructions for this question.
    #[serde(default, deserialize_with = "optional_text")]
    pub base_prompt: Option<String>,
    /// The files that come with it, at most 100, and 20 images among them.
    pub files: Option<Vec<JoyAgentFile>>,
    /// The same as `files`.
    pub attachments: Option<Vec<JoyAgentFile>>,
    /// The conversation, of which nothing is read but its files.
    pub messages: Option<Vec<JoyAgentMessage>>,
    /// When people are asked.
    pub human_feedback: Option<HumanFeedbackRequest>,
}

/// A question of JoyAgent's web page.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PageRequest {
    /// The question, at most 64 KB.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub query: Option<String>,
    /// The session it belongs to.
    #[serde(default, deserialize_with = "optional_text")]
    pub session_id: Option<String>,
    /// Your name for the request.
    #[serde(default, deserialize_with = "optional_text")]
    pub request_id: Option<String>,
    /// 0 for `ReAct`, anything else for a plan.
    pub deep_think: Option<WholeNumber>,
    /// The form of the answer.
    #[serde(default, deserialize_with = "optional_text")]
    pub output_style: Option<String>,
    /// Instructions for this question.
    #[serde(default, deserialize_with = "optional_text")]
    pub base_prompt: Option<String>,
    /// The files that come with it, at most 100, and 20 images among them.
    pub files: Option<Vec<JoyAgentFile>>,
    /// The same as `files`.
    pub attachments: Option<Vec<JoyAgentFile>>,
    /// The conversation, of which nothing is read but its files.
    pub messages: Option<Vec<JoyAgentMessage>>,
    /// When people are asked.
    pub human_feedback: Option<HumanFeedbackRequest>,
}

/// A data question of JoyAgent's web page.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataRequest {
    /// The question, at most 64 KB.
    #[cfg_attr(feature = "schema", schemars(required))]
    pub content: Option<String>,
}
