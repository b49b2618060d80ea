//! Consecutive failures of a provider during an outage.

use std::time::Duration;

use djinn_core::effect::ModelCall;

/// Consecutive temporary failures, as known to one performance of a call.
#[derive(Debug, Default)]
pub(super) struct FailureStreak {
    since_ms: Option<i64>,
    /// The time this performance has waited.
    waiting_time: Duration,
}

impl FailureStreak {
    /// Creates the streak from the failures in the journal.
    pub(super) fn of(call: &ModelCall) -> Self {
        Self { since_ms: call.failing_since_ms, waiting_time: Duration::ZERO }
    }

    /// Returns the time of the first failure, in Unix milliseconds.
    pub(super) fn since_ms(&self) -> Option<i64> {
        self.since_ms
    }

    /// Notes a failure. Returns the time of the first failure, in Unix milliseconds.
    pub(super) fn begin(&mut self, now_ms: i64) -> i64 {
        *self.since_ms.get_or_insert(now_ms)
    }

    /// Returns the time this performance has waited.
    pub(super) fn held(&self) -> Duration {
        self.waiting_time
    }

    pub(super) fn add_wait(&mut self, wait: Duration) {
        self.waiting_time = self.waiting_time.saturating_add(wait);
    }
}
