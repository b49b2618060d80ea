//! A request of AG-UI's clients.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::human::HumanSettingsRequest;
use super::value::{optional_text, required_text};

/// A question or responses in the form of AG-UI. Other fields have no effect and are named in the header `Djinn-Ignored`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgUiRequest {
    /// The id of the conversation, which names the session.
    #[serde(deserialize_with = "required_text")]
    pub thread_id: String,
    /// The id of the request. The same id again joins the run.
    #[serde(deserialize_with = "required_text")]
    pub run_id: String,
    /// The messages. The last message of the user is the question; the session has its history.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<AgUiMessage>"))]
    pub messages: Vec<Value>,
    /// The state of the client. Its field `djinn` is replaced by the state of the run.
    #[serde(default)]
    pub state: Value,
    /// Tools of the client. They have no effect, because agents have their own.
    pub tools: Option<Vec<Value>>,
    /// Texts about the client, which become instructions of the question.
    pub context: Option<Vec<AgUiContext>>,
    /// Fields of the application. `djinn` has the settings of the question.
    pub forwarded_props: Option<AgUiProps>,
    /// Responses to the interrupts of a run. Interrupts without a response stay open.
    pub resume: Option<Vec<AgUiResume>>,
    /// The version of the protocol, which has no effect.
    #[serde(default)]
    pub protocol_version: Value,
    /// The id of an earlier request, which has no effect.
    #[serde(default)]
    pub parent_run_id: Value,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgUiMessage {
    /// `user` for a question.
    pub role: String,
    /// A text, or a list of parts.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<AgUiContent>"))]
    pub content: Value,
}

/// The content of a user's message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "must be a text or a list of parts")]
pub enum AgUiContent {
    /// A text.
    Text(String),
    /// Parts.
    Parts(Vec<AgUiPart>),
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgUiPart {
    /// `text`, `image`, `audio`, `video`, `document`, or `binary` of older clients.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text of a part `text`.
    pub text: Option<String>,
    /// The file of another part.
    pub source: Option<AgUiSource>,
    /// The media type of a part `binary`.
    #[serde(default, deserialize_with = "optional_text")]
    pub mime_type: Option<String>,
    /// The bytes of a part `binary`, in base64.
    pub data: Option<String>,
    /// The name of a part `binary`.
    #[serde(default, deserialize_with = "optional_text")]
    pub filename: Option<String>,
}

/// The file of a part.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgUiSource {
    /// `data` for bytes in base64, or `url` for a `data:` URI. Other addresses are not fetched.
    #[serde(rename = "type")]
    pub kind: String,
    /// The bytes or the URI.
    pub value: String,
    /// The media type.
    #[serde(default, deserialize_with = "optional_text")]
    pub mime_type: Option<String>,
}

/// A text about the client.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgUiContext {
    /// The meaning of the value.
    pub description: String,
    /// The value.
    pub value: String,
}

/// The fields of the application.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgUiProps {
    /// The settings of the question.
    pub djinn: Option<AgUiSettings>,
}

/// The settings of a question, as in `POST /runs`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AgUiSettings {
    /// The name of the mode, from `GET /modes` (default: the deployment's).
    #[serde(default, deserialize_with = "optional_text")]
    pub mode: Option<String>,
    /// The form of the answer, for an answer as a file.
    #[serde(default, deserialize_with = "optional_text")]
    pub output_style: Option<String>,
    /// The settings for human requests.
    pub human_requests: Option<HumanSettingsRequest>,
}

/// A response to an interrupt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgUiResume {
    /// The id of the interrupt.
    pub interrupt_id: String,
    /// `resolved` with a payload, or `cancelled` to skip the request.
    pub status: AgUiResumeStatus,
    /// The response, as the interrupt's `responseSchema` describes.
    pub payload: Option<AgUiResponse>,
}

/// The kind of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgUiResumeStatus {
    /// The user responded.
    Resolved,
    /// The user did not respond: the request is skipped.
    Cancelled,
}

/// The response to an interrupt.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AgUiResponse {
    /// `confirm`, `modify`, `skip`, `stop`, or a text for the model.
    #[serde(deserialize_with = "required_text")]
    pub answer: String,
    /// The replacement arguments for `modify`: all arguments, not only the changed ones.
    pub arguments: Option<Map<String, Value>>,
    /// An additional comment, at most 4 096 bytes.
    #[serde(default, deserialize_with = "optional_text")]
    pub comment: Option<String>,
}
