//! The status of a run, in one vocabulary.

use serde::{Deserialize, Serialize};

/// Where a run stands. The same six words everywhere: in the table, in the API, in the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Accepted; nobody has driven it yet.
    Queued,
    /// Being driven, or to be taken up again by whoever finds it undriven.
    Running,
    /// Waits for a human and costs nothing meanwhile.
    Paused,
    /// Ended with an answer.
    Finished,
    /// Ended without one; its final entry says why and what to do.
    Failed,
    /// Ended because somebody stopped it.
    Stopped,
}

impl RunStatus {
    /// Returns true if the run's final entry is in its journal.
    #[must_use]
    pub fn has_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running | Self::Paused)
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
