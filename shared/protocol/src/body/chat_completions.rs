//! Responses in the form of OpenAI's API.

use djinn_core::budget::Usage;
use djinn_core::id::RunId;
use serde::Serialize;

use super::ErrorBody;

/// The answer to a question as one document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatCompletionBody<'a> {
    /// The id of the run.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub id: &'a RunId,
    /// `chat.completion`.
    pub object: &'static str,
    /// The start of the run, Unix seconds.
    pub created: i64,
    /// The name of the model in the request.
    pub model: &'a str,
    /// The one answer.
    pub choices: [ChatChoiceBody; 1],
    /// The tokens of the run and its children; absent if the run has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<ChatUsageBody>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatChoiceBody {
    /// Always 0.
    pub index: u32,
    /// The message with the answer.
    pub message: ChatAnswerBody,
    /// `stop`, `length` or `content_filter`.
    pub finish_reason: &'static str,
}

/// The message with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatAnswerBody {
    /// `assistant`.
    pub role: &'static str,
    /// The answer, with links to its files.
    pub content: String,
}

/// The tokens of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatUsageBody {
    /// Tokens read, including cached tokens.
    prompt_tokens: u64,
    /// Tokens written.
    completion_tokens: u64,
    /// The sum.
    total_tokens: u64,
    /// Parts of the tokens read.
    prompt_tokens_details: ChatPromptTokensBody,
}

/// Parts of the tokens read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ChatPromptTokensBody {
    /// Tokens from the provider's cache.
    cached_tokens: u64,
}

/// The modes that need only a question, as models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatModelListBody {
    /// `list`.
    object: &'static str,
    /// The models, the default mode first.
    data: Vec<ChatModelBody>,
}

/// A mode as a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatModelBody {
    /// The name for the field `model` of a question.
    id: String,
    /// `model`.
    object: &'static str,
    /// Always 0.
    created: u32,
    /// `djinn`.
    owned_by: &'static str,
}

/// The error of a rejected request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChatErrorBody {
    /// The error.
    error: ChatError,
}

/// An error in the form of OpenAI's API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ChatError {
    /// The error and the remedy.
    message: String,
    /// `authentication_error`, `rate_limit_error`, `invalid_request_error` or `server_error`.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The invalid field of the request; null if no field is involved.
    param: Option<String>,
    /// The code of Djinn, as in `docs/errors.md`.
    code: String,
}

impl ChatUsageBody {
    /// Creates the tokens of a run with this usage.
    #[must_use]
    pub fn new(usage: &Usage) -> Self {
        Self {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            prompt_tokens_details: ChatPromptTokensBody { cached_tokens: usage.cached_tokens },
        }
    }
}

impl ChatModelListBody {
    /// Creates the list.
    #[must_use]
    pub fn new(data: Vec<ChatModelBody>) -> Self {
        Self { object: "list", data }
    }
}

impl ChatModelBody {
    /// Creates the model with this name.
    #[must_use]
    pub fn new(id: String) -> Self {
        Self { id, object: "model", created: 0, owned_by: "djinn" }
    }
}

impl ChatErrorBody {
    /// Creates the response for a request that failed with this HTTP status.
    #[must_use]
    pub fn new(error: &ErrorBody, status: u16) -> Self {
        let kind = match status {
            401 | 403 => "authentication_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        let param = error.field.as_ref().map(ToString::to_string);
        let code = error.code.as_str().to_owned();
        Self { error: ChatError { message: error.message.clone(), kind, param, code } }
    }
}
