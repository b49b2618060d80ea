//! Responses about human requests.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::event::PublicHumanRequest;

/// The pending human requests of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingBody<'a> {
    /// Always true: the request succeeded.
    pub success: bool,
    /// The id of the run.
    pub run: String,
    /// The pending human requests, by id.
    pub data: BTreeMap<String, PublicHumanRequest<'a>>,
}

/// A response of a user arrived.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedbackBody {
    /// Always true: the request succeeded.
    pub success: bool,
    /// A sentence that confirms the response.
    pub message: &'static str,
    /// The response as interpreted by the server.
    pub data: FeedbackReceipt,
}

/// The receipt for a user's response.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedbackReceipt {
    /// The id of the human request.
    #[serde(rename = "feedbackId")]
    pub feedback_id: String,
    /// The kind of response: `confirm`, `modify`, `skip`, `stop` or `say`.
    pub answer: &'static str,
    /// The state of the response.
    pub state: FeedbackState,
    /// The id of the run.
    pub run: String,
}

/// The state of a user's response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FeedbackState {
    /// The response resolved the request.
    Taken,
    /// The response is stored, and the run reads the response soon.
    Waiting,
}
