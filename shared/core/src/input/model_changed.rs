//! A model call that the fallback takes over.

use serde::{Deserialize, Serialize};

use crate::error_code::Failure;
use crate::id::MessageId;

/// The role's own model cannot answer, and its fallback makes the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelChanged {
    /// The message that is to be written.
    pub message: MessageId,
    /// The role's own model, by its name in the settings.
    pub from: String,
    /// The fallback, by its name in the settings.
    pub to: String,
    /// Why the role's own model does not make the call.
    pub failure: Failure,
}
