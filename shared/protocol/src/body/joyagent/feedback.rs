//! Human requests and receipts for responses.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::body::ResponseState;
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
    pub state: ResponseState,
    /// The id of the run.
    pub run: String,
}
