//! Responses in the form of OpenAI's API, besides answers.

use serde::Serialize;

use super::ErrorBody;

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
