//! The status of a run, in one vocabulary.

use serde::{Deserialize, Serialize};

/// The status of a run, with the same six words in the table, the API and the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Accepted, without a driver so far.
    Queued,
    /// At work, or waiting for a new driver.
    Running,
    /// Waiting for a user, at no cost.
    Paused,
    /// Ended with an answer.
    Finished,
    /// Ended early or without an answer; the final entry has the reason and the remedy.
    Failed,
    /// Stopped by a user or client.
    Stopped,
}

impl RunStatus {
    /// Returns true if the run's final entry is in its journal.
    #[must_use]
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Stopped)
    }

    /// Returns the word for clients, journals and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// Parses the word of a status.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Queued, Self::Running, Self::Paused, Self::Finished, Self::Failed, Self::Stopped]
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}
