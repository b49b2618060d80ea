//! The failures in a row of a provider that is waited for.

use std::time::Duration;

use djinn_core::effect::ModelCall;

/// Failures in a row that may pass, as one performance of a call knows them.
#[derive(Debug, Default)]
pub(super) struct FailureStreak {
    since_ms: Option<i64>,
    /// The time that this performance has waited.
    held: Duration,
}

impl FailureStreak {
    /// The failures that the journal knows of.
    pub(super) fn of(call: &ModelCall) -> Self {
        Self { since_ms: call.failing_since_ms, held: Duration::ZERO }
    }

    /// The moment of the first failure, Unix milliseconds.
    pub(super) fn since_ms(&self) -> Option<i64> {
        self.since_ms
    }

    /// Takes note of a failure. Returns the moment of the first, Unix milliseconds.
    pub(super) fn begin(&mut self, now_ms: i64) -> i64 {
        *self.since_ms.get_or_insert(now_ms)
    }

    /// The time that this performance has waited.
    pub(super) fn held(&self) -> Duration {
        self.held
    }

    pub(super) fn add_wait(&mut self, wait: Duration) {
        self.held = self.held.saturating_add(wait);
    }
}
