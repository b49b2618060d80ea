//! A request of OpenAI's clients for a response.

use serde::Deserialize;
use serde_json::Value;

use super::ResponseFormatRequest;
use super::chat_completions::ChatMetadataRequest;
use super::query::parse_non_empty;
use super::value::optional_text;

/// A question in the form of the Responses API. Other fields of that API have no effect and are named in the header
/// `Djinn-Ignored`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponsesRequest {
    /// The mode, from `GET /v1/models`: `djinn` for the default mode, or a name such as `djinn-plan-solve`.
    #[serde(default, deserialize_with = "optional_text")]
    pub model: Option<String>,
    /// The question, or a list of items of which the last is the user's question. The items before it are its history,
    /// unless the request names a session, whose own history then counts.
    pub input: ResponsesInput,
    /// Instructions, which are added to the base prompt.
    #[serde(default, deserialize_with = "optional_text")]
    pub instructions: Option<String>,
    /// True for events while the answer is written, false (default) for one document.
    pub stream: Option<bool>,
    /// True to return at once without `stream`, while the run continues (default false).
    pub background: Option<bool>,
    /// The response that the question follows, or whose open requests it responds to.
    #[serde(default, deserialize_with = "optional_text")]
    pub previous_response_id: Option<String>,
    /// The session of the question: its name, or an object with the name as `id`.
    pub conversation: Option<ResponsesConversation>,
    /// Further facts about the question.
    pub metadata: Option<ChatMetadataRequest>,
    /// `auto` or `none`: Djinn's agents choose among their own tools.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub tool_choice: Option<Value>,
    /// The form of the answer.
    pub text: Option<ResponsesTextRequest>,
}

/// The input of a response.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "must be a text or a list of items")]
pub enum ResponsesInput {
    /// The question.
    Text(String),
    /// Messages, and other items, which have no effect.
    Items(Vec<Value>),
}

/// A message in the input.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponsesItem {
    /// `user`, `assistant`, `system` or `developer`.
    pub role: String,
    /// The text, or a list of parts.
    pub content: ResponsesContent,
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "must be a text or a list of parts")]
pub enum ResponsesContent {
    /// A text.
    Text(String),
    /// The parts of a message.
    Parts(Vec<ResponsesPart>),
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponsesPart {
    /// `input_text`, `output_text`, `refusal`, `input_image` or `input_file`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text of a part with text.
    pub text: Option<String>,
    /// The text of a part `refusal`.
    pub refusal: Option<String>,
    /// The image as a `data:` URI. Other URLs are not fetched.
    #[serde(default, deserialize_with = "optional_text")]
    pub image_url: Option<String>,
    /// The file as a `data:` URI.
    #[serde(default, deserialize_with = "optional_text")]
    pub file_data: Option<String>,
    /// The name of the file.
    #[serde(default, deserialize_with = "optional_text")]
    pub filename: Option<String>,
}

/// The session of a question.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "must be a name, or an object with the name as `id`")]
pub enum ResponsesConversation {
    /// The name.
    Name(String),
    /// An object with the name.
    Object {
        /// The name.
        id: String,
    },
}

/// The form of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponsesTextRequest {
    /// The format, which can only be `{"type": "text"}`.
    pub format: Option<ResponseFormatRequest>,
}

/// The form of an existing response.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponsesQuery {
    /// True for events, false (default) for the state as a document.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub stream: Option<bool>,
    /// The `sequence_number` of the last received event, with `stream` (default: none, for all events).
    #[serde(default, deserialize_with = "parse_non_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub starting_after: Option<String>,
}
