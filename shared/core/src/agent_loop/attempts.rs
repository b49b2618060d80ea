//! How often an effect was tried, and by which model.

use crate::crash::{MAX_CRASHES, MAX_SHARED_CRASHES};
use crate::effect::{Fallback, ModelCall, ToolChoice};
use crate::error_code::Failure;
use crate::id::MessageId;
use crate::input::AttemptFailed;
use crate::settings::{ModelChoice, Role};

/// How often an effect was tried before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempts {
    /// Failures in the journal: attempts that failed after they had sent text, and those that a driver
    /// left behind.
    pub failures: u32,
    /// Drivers that died over it.
    pub crashes: u32,
    /// Failures during which the process stood still. Those of older records are not counted.
    standstills: u32,
    /// Attempts that failed of the model which makes the call, silent ones included as far as they are
    /// known, since it was last asked anew. Those that were cut short while their process stood still are
    /// none.
    retries: u32,
    /// How often another model took the call over.
    fallbacks_used: u32,
    fallback: Option<Fallback>,
    /// The moment before which it is not made, Unix milliseconds, if its provider is waited for.
    retry_at_ms: Option<i64>,
    /// The moment of the first of the failures in a row that may pass.
    failing_since_ms: Option<i64>,
}

impl Attempts {
    /// The number of the next attempt, from 1.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        1 + self.failures + self.crashes
    }

    /// The retries that the model which makes the call has used up.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Who makes the call in the place of its role's own model.
    #[must_use]
    pub fn fallback(&self) -> Option<&Fallback> {
        self.fallback.as_ref()
    }

    /// Which of its role's models makes the call.
    #[must_use]
    pub fn model_choice(&self) -> ModelChoice {
        if self.fallback.is_some() { ModelChoice::Fallback } else { ModelChoice::Primary }
    }

    /// The call as it is owed after these attempts.
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

    /// Records failed attempts and returns whether the call may be made again.
    pub(crate) fn record_failures(&mut self, failed: &AttemptFailed) -> bool {
        self.failures += 1;
        let counted = failed.failed_attempts.saturating_sub(u32::from(failed.process_stalled));
        self.retries = self.retries.saturating_add(counted);
        self.standstills += u32::from(failed.counts_as_crash);
        self.retry_at_ms = failed.retry_at_ms;
        self.failing_since_ms = failed.failing_since_ms;
        self.crash_count() < MAX_CRASHES
    }

    /// The fallback takes the call over. Returns how often one has; `None` if it had it already.
    pub(crate) fn switch_to_fallback(&mut self, model: &str, because: &Failure) -> Option<u32> {
        if self.fallback.is_some() {
            return None;
        }
        let (model, because) = (model.to_owned(), because.clone());
        self.fallback = Some(Fallback { model, failure: because });
        self.forget_failures();
        self.fallbacks_used += 1;
        Some(self.fallbacks_used)
    }

    /// The call was interrupted: the role's own model makes it again.
    pub(crate) fn start_over(&mut self) {
        self.fallback = None;
        self.forget_failures();
    }

    fn forget_failures(&mut self) {
        self.retries = 0;
        self.retry_at_ms = None;
        self.failing_since_ms = None;
    }

    /// A driver died. Whether the call may be made again.
    pub(crate) fn record_crash(&mut self) -> bool {
        self.crashes += 1;
        self.crash_count() < MAX_CRASHES
    }

    /// Whether the call would be made by itself the next time.
    pub(crate) fn is_suspect(&self) -> bool {
        self.crash_count() >= MAX_SHARED_CRASHES
    }

    fn crash_count(&self) -> u32 {
        self.crashes + self.standstills
    }
}
