//! Responses about human requests.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::event::PublicHumanRequest;

/// What a run waits for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingBody<'a> {
    /// Always true: it was done.
    pub success: bool,
    /// The id of the run.
    pub run: String,
    /// What is asked, by the name by which it is answered.
    pub data: BTreeMap<String, PublicHumanRequest<'a>>,
}

/// An answer of a person's arrived.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedbackBody {
    /// Always true: it was done.
    pub success: bool,
    /// A sentence that says so.
    pub message: &'static str,
    /// What the server understood.
    pub data: FeedbackReceipt,
}

/// What was taken of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedbackReceipt {
    /// The name of what was answered.
    #[serde(rename = "feedbackId")]
    pub feedback_id: String,
    /// How it was understood: `confirm`, `modify`, `skip`, `stop` or `say`.
    pub answer: &'static str,
    /// What became of it.
    pub state: FeedbackState,
    /// The id of the run.
    pub run: String,
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FeedbackState {
    /// It decided what was asked.
    Taken,
    /// It is stored, and the run reads it soon.
    Waiting,
}
