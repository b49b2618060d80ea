//! A model call that the fallback takes over.

use serde::{Deserialize, Serialize};

use crate::error_code::Failure;
use crate::id::MessageId;

/// The role's own model cannot answer, and its fallback makes the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChanged {
    /// The message of the call.
    pub message: MessageId,
    /// The name of the role's own model in the settings.
    pub from: String,
    /// The name of the fallback in the settings.
    pub to: String,
    /// The reason why the role's own model does not make the call.
    pub failure: Failure,
}
