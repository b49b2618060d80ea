//! What calls of each tool came to, from which the next ones are estimated.

use serde::{Deserialize, Serialize};

use super::{StoreError, UserKey};

/// Samples of a tool that are kept at least, if there were so many: the newest. More than twice as
/// many never are.
pub const KEPT_SAMPLES: usize = 50;

/// A tool, as a user uses it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolKey {
    /// The user who uses the tool.
    pub user: UserKey,
    /// The name of the tool, as models call it.
    pub tool: String,
}

/// What a call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSample {
    /// Milliseconds that it took.
    pub ms: u64,
    /// Tokens that its result added to the conversation, counted as bytes.
    pub tokens: u64,
}

/// Samples of calls: `dynamodb:GetItem`, `dynamodb:UpdateItem`.
pub trait CallHistory {
    /// The newest samples of a tool, oldest first. They may be some minutes old.
    ///
    /// # Errors
    /// `Unavailable` or `Unreadable`.
    fn call_samples(
        &self,
        tool: &ToolKey,
    ) -> impl Future<Output = Result<Vec<CallSample>, StoreError>> + Send;

    /// Adds samples, of which there are at most [`KEPT_SAMPLES`]. Whoever does not hear of it need not try
    /// again: they are many.
    ///
    /// # Errors
    /// `Unavailable` or `Unreadable`.
    fn add_call_samples(
        &self,
        tool: &ToolKey,
        samples: &[CallSample],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
