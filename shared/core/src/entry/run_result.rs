//! The end of a run, as clients see it.

use serde::{Deserialize, Serialize};

use super::{Event, is_done};
use crate::budget::Spending;
use crate::error_code::Failure;
use crate::file::ProductFile;
use crate::input::FinishReason;
use crate::review::ReviewOutcome;
use crate::status::RunStatus;

/// The result of an ended run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The final status: `finished`, `failed` or `stopped`.
    pub status: RunStatus,
    /// The answer; after a failure, the part that exists.
    pub answer: String,
    /// The files of the answer, most important first.
    pub files: Vec<ProductFile>,
    /// The failure of a run that did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The reason if the answer was cut off.
    #[serde(default, skip_serializing_if = "is_done")]
    pub finish: FinishReason,
    /// The result of the review of the answer; `None` for a run without reviews, or without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewOutcome>,
    /// The spending of the run.
    pub spent: Spending,
    /// Milliseconds from the question to the end.
    pub took_ms: u64,
    /// Milliseconds of the run in which it only waited for users.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub paused_ms: u64,
}

impl RunResult {
    /// Returns the used wall time in milliseconds, without the time spent waiting for users.
    #[must_use]
    pub fn wall_ms(&self) -> u64 {
        self.took_ms.saturating_sub(self.paused_ms)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(ms: &u64) -> bool {
    *ms == 0
}

impl Event {
    /// Returns the result of the run if the event is the run's end.
    #[must_use]
    pub fn run_result(&self) -> Option<&RunResult> {
        let Self::RunEnded(ending) = self else { return None };
        Some(ending)
    }
}
