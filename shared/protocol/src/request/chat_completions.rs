//! A request of OpenAI's clients for a chat completion.

use serde::Deserialize;
use serde_json::Value;

use super::value::{WholeNumber, optional_text};

/// A question in the form of Chat Completions. Other fields of that API have no effect and are named in the header
/// `Djinn-Ignored`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatCompletionsRequest {
    /// The mode, from `GET /v1/models`: `djinn` for the default mode, or a name such as `djinn-plan-solve`.
    #[serde(default, deserialize_with = "optional_text")]
    pub model: Option<String>,
    /// The messages. The last is the user's question. The messages before it are its history, unless the request names
    /// a session, whose own history then counts.
    pub messages: Vec<ChatMessageRequest>,
    /// True for chunks while the answer is written, false (default) for one document.
    pub stream: Option<bool>,
    /// The options of a stream.
    pub stream_options: Option<StreamOptionsRequest>,
    /// Further facts about the question.
    pub metadata: Option<ChatMetadataRequest>,
    /// The number of answers, which can only be 1.
    pub n: Option<WholeNumber>,
    /// `auto` or `none`: Djinn's agents choose among their own tools.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub tool_choice: Option<Value>,
    /// The form of the answer, which can only be `{"type": "text"}`.
    pub response_format: Option<ResponseFormatRequest>,
}

/// A message of a chat.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatMessageRequest {
    /// `user`, `assistant`, `system`, `developer`, `tool` or `function`. The messages of the last two have no effect.
    pub role: String,
    /// The text, or a list of parts.
    pub content: Option<ChatContent>,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "must be a text or a list of parts")]
pub enum ChatContent {
    /// A text.
    Text(String),
    /// The parts of a message.
    Parts(Vec<ChatPart>),
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatPart {
    /// `text`, `image_url` or `file`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text of a part `text`.
    pub text: Option<String>,
    /// The image of a part `image_url`.
    pub image_url: Option<ChatImage>,
    /// The file of a part `file`.
    pub file: Option<ChatFile>,
}

/// An image in a message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatImage {
    /// The image as a `data:` URI. Other URLs are not fetched.
    pub url: String,
}

/// A file in a message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatFile {
    /// The name of the file.
    #[serde(default, deserialize_with = "optional_text")]
    pub filename: Option<String>,
    /// The file as a `data:` URI.
    #[serde(default, deserialize_with = "optional_text")]
    pub file_data: Option<String>,
}

/// The options of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamOptionsRequest {
    /// True for a last chunk with the tokens of the run.
    pub include_usage: Option<bool>,
}

/// Further facts about a question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatMetadataRequest {
    /// The session of the question; the headers `x-session-id` and `x-openwebui-chat-id` come first.
    #[serde(default, deserialize_with = "optional_text")]
    pub session_id: Option<String>,
}

/// The form of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseFormatRequest {
    /// `text`.
    #[serde(rename = "type")]
    pub kind: String,
}
