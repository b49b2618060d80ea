//! Responses for JoyAgent's clients.

mod feedback;
mod file;

pub use feedback::{FeedbackBody, FeedbackReceipt, PendingBody};
pub use file::{FileListBody, FileLocationBody, UploadBody, UploadTargetBody};

use serde::Serialize;

use super::error::ErrorBody;

/// An error for JoyAgent's page, which shows `msg`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PageErrorBody {
    /// The code, the message and the field.
    #[serde(flatten)]
    pub error: ErrorBody,
    /// The message again, for JoyAgent's page.
    pub msg: String,
}

/// An error for a human response, with `success`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeedbackErrorBody {
    /// The code, the message and the field.
    #[serde(flatten)]
    pub error: ErrorBody,
    /// Always false: nothing was changed.
    pub success: bool,
}
