//! The measured costs of each tool's calls, for estimates of later calls.

use serde::{Deserialize, Serialize};

use super::{StoreError, UserKey};

/// The minimum number of a tool's samples that are kept: the newest. More than twice this number is never
/// kept.
pub const KEPT_SAMPLES: usize = 50;

/// A tool of a user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolKey {
    /// The user who uses the tool.
    pub user: UserKey,
    /// The tool's name for models.
    pub tool: String,
}

/// The measured cost of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSample {
    /// The duration, in milliseconds.
    pub ms: u64,
    /// The result's tokens in the conversation, estimated from bytes.
    pub tokens: u64,
}

/// The store of samples. Needs `dynamodb:GetItem` and `dynamodb:UpdateItem`.
pub trait CallHistory {
    /// Returns the newest samples of a tool, oldest first. These may be some minutes old.
    ///
    /// # Errors
    /// Returns `Unavailable` or `Unreadable`.
    fn call_samples(
        &self,
        tool: &ToolKey,
    ) -> impl Future<Output = Result<Vec<CallSample>, StoreError>> + Send;

    /// Adds up to [`KEPT_SAMPLES`] samples. A failed write needs no retry: samples are many.
    ///
    /// # Errors
    /// Returns `Unavailable` or `Unreadable`.
    fn add_call_samples(
        &self,
        tool: &ToolKey,
        samples: &[CallSample],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
