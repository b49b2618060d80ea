//! A request of the AI SDK's chats.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::human::HumanSettingsRequest;
use super::value::optional_text;

/// A question or responses in the form of the AI SDK's `useChat`. Other fields have no effect and are named in the
/// header `Djinn-Ignored`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AiChatRequest {
    /// The id of the chat, which names the session. Default: the session of the first message.
    #[serde(default, deserialize_with = "optional_text")]
    pub id: Option<String>,
    /// The messages. A last message of the user is the question; the session has its history. A last message of the
    /// assistant brings the user's responses to its approvals.
    pub messages: Vec<AiMessageRequest>,
    /// `submit-message` (default), or `regenerate-message` for another answer to the last question.
    #[serde(default, deserialize_with = "optional_text")]
    pub trigger: Option<String>,
    /// The id of the answer to replace by another.
    #[serde(rename = "messageId", default, deserialize_with = "optional_text")]
    pub message_id: Option<String>,
    /// The name of the mode, from `GET /modes` (default: the deployment's).
    #[serde(default, deserialize_with = "optional_text")]
    pub mode: Option<String>,
    /// The form of the answer, for an answer as a file.
    #[serde(default, deserialize_with = "optional_text")]
    pub output_style: Option<String>,
    /// Instructions for this question, in addition to the deployment's.
    #[serde(default, deserialize_with = "optional_text")]
    pub base_prompt: Option<String>,
    /// The settings for human requests, as in `POST /runs`.
    pub human_requests: Option<HumanSettingsRequest>,
}

/// A message of a chat.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AiMessageRequest {
    /// The client's id of the message.
    pub id: String,
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// The parts. Only those of the last message count.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<AiPart>"))]
    pub parts: Vec<Value>,
    /// The metadata of an answer, as received.
    pub metadata: Option<Map<String, Value>>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AiPart {
    /// `text`, `file`, or another part, which has no effect in a question.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text of a part `text`.
    pub text: Option<String>,
    /// The file as a `data:` URI. Other URLs are not fetched.
    pub url: Option<String>,
    /// The name of a file.
    #[serde(default, deserialize_with = "optional_text")]
    pub filename: Option<String>,
    /// The user's response to a tool call that waits for approval.
    pub approval: Option<AiApproval>,
}

/// A user's response.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AiApproval {
    /// The id of the request.
    pub id: String,
    /// True to make the call, false to skip it. Absent without a response.
    pub approved: Option<bool>,
    /// With `approved: false`, words for the model in place of a result.
    #[serde(default, deserialize_with = "optional_text")]
    pub reason: Option<String>,
}
