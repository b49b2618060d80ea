//! Responses about human requests.

use djinn_core::human::TimeoutAction;
use serde::Serialize;
use serde_json::Value;

use crate::event::PublicHumanRequest;

/// The open human requests of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HumanRequestListBody<'a> {
    /// The id of the run.
    pub run: String,
    /// The open human requests of the run and of all runs below it.
    pub requests: Vec<OpenHumanRequestBody<'a>>,
}

/// An open human request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenHumanRequestBody<'a> {
    /// The request.
    #[serde(flatten)]
    pub request: PublicHumanRequest<'a>,
    /// The JSON Schema of the call's `arguments`, for a form; absent if the subject is no call of a tool that
    /// exists now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The default response to this request at `expires_at_ms`; absent if the request never expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<TimeoutAction>,
}

/// The receipt for a user's response.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResponseBody {
    /// The id of the run.
    pub run: String,
    /// The id of the human request, or of the group of requests.
    pub request: String,
    /// The kind of response: `confirm`, `modify`, `skip`, `stop` or `say`.
    pub response: &'static str,
    /// The state of the response.
    pub state: ResponseState,
}

/// The state of a user's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResponseState {
    /// The response resolved the request.
    Taken,
    /// The response is stored, and the run reads the response soon.
    Waiting,
}
