//! Counts of attempts at an effect, and the model that makes them.

use crate::crash::{MAX_CRASHES, MAX_SHARED_CRASHES};
use crate::effect::{Fallback, ModelCall, ToolChoice};
use crate::error_code::Failure;
use crate::id::MessageId;
use crate::input::AttemptFailed;
use crate::settings::{ModelChoice, Role};

/// Earlier attempts at an effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Failures in the journal: attempts that failed after they had sent text, and failed attempts of a
    /// driver that did not continue.
    pub failures: u32,
    /// The number of crashes during the effect.
    pub crashes: u32,
    /// Failures during which the process stood still. Failures in older records are not counted.
    standstills: u32,
    /// Failed attempts of the calling model since its last fresh start, including known silent attempts. Does
    /// not count attempts that were cut short while their process stood still.
    retries: u32,
    /// The number of times that a fallback took over the call.
    fallbacks_used: u32,
    fallback: Option<Fallback>,
    /// The earliest time of the call, Unix milliseconds, if the run waits for the provider.
    retry_at_ms: Option<i64>,
    /// The time of the first of the consecutive temporary failures, Unix milliseconds.
    failing_since_ms: Option<i64>,
}

impl Attempts {
    /// Returns the number of the next attempt, from 1.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        1 + self.failures + self.crashes
    }

    /// Returns the retries that the calling model has used.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Returns the fallback that makes the call, if any.
    #[must_use]
    pub fn fallback(&self) -> Option<&Fallback> {
        self.fallback.as_ref()
    }

    /// Returns whether the role's own model or the fallback makes the call.
    #[must_use]
    pub fn model_choice(&self) -> ModelChoice {
        if self.fallback.is_some() { ModelChoice::Fallback } else { ModelChoice::Primary }
    }

    /// Returns the due call after these attempts.
    pub(crate) fn to_call(
        &self,
        message: MessageId,
        role: Role,
        tool_choice: ToolChoice,
    ) -> ModelCall {
        ModelCall {
            message,
            role,
            attempt: self.next_number(),
            failures: self.failures,
            crashes: self.crash_count(),
            retries: self.retries,
            fallback: self.fallback.clone(),
            tool_choice,
            interrupts: 0,
            retry_at_ms: self.retry_at_ms,
            failing_since_ms: self.failing_since_ms,
            waits: false,
        }
    }

    /// Records failed attempts. Returns true if the call may be repeated.
    pub(crate) fn record_failures(&mut self, failed: &AttemptFailed) -> bool {
        self.failures += 1;
        let attempts = failed.failed_attempts.saturating_sub(u32::from(failed.process_stalled));
        self.retries = self.retries.saturating_add(attempts);
        self.standstills += u32::from(failed.counts_as_crash);
        self.retry_at_ms = failed.retry_at_ms;
        self.failing_since_ms = failed.failing_since_ms;
        self.crash_count() < MAX_CRASHES
    }

    /// Lets the fallback take over the call, and returns the number of takeovers. `None` if the fallback
    /// already had the call.
    pub(crate) fn switch_to_fallback(&mut self, model: &str, because: &Failure) -> Option<u32> {
        if self.fallback.is_some() {
            return None;
        }
        let model = model.to_owned();
        let because = because.clone();
        self.fallback = Some(Fallback { model, failure: because });
        self.forget_failures();
        self.fallbacks_used += 1;
        Some(self.fallbacks_used)
    }

    /// Resets the attempts after an interrupt: the role's own model makes the call again.
    pub(crate) fn start_over(&mut self) {
        self.fallback = None;
        self.forget_failures();
    }

    fn forget_failures(&mut self) {
        self.retries = 0;
        self.retry_at_ms = None;
        self.failing_since_ms = None;
    }

    /// Counts a crash. Returns true if the call may be repeated.
    pub(crate) fn record_crash(&mut self) -> bool {
        self.crashes += 1;
        self.crash_count() < MAX_CRASHES
    }

    /// Returns true if the next attempt would run alone.
    pub(crate) fn is_suspect(&self) -> bool {
        self.crash_count() >= MAX_SHARED_CRASHES
    }

    fn crash_count(&self) -> u32 {
        self.crashes + self.standstills
    }
}
