//! Waiting for a provider with a temporary failure.

use std::time::Duration;

use djinn_core::budget::Usage;
use djinn_core::input::Input;
use djinn_core::settings::ModelChoice;

use super::failure_streak::FailureStreak;
use super::silent_attempts::SilentAttempts;
use super::{FailedAttempt, ModelExecution};
use crate::port::clock::Clock as _;
use crate::port::model::{Model as _, ModelError, ModelErrorKind, ModelLimits};
use crate::settings::{NextAttempt, PassingFailure};
use crate::world::Ports;

impl<P: Ports> ModelExecution<P> {
    /// Returns true if the role's fallback takes over the call instead of waiting.
    pub(super) fn leaves_to_fallback(&self, failures: u32) -> bool {
        let has_fallback = self.call.model_choice() == ModelChoice::Primary
            && self.ports.model().name(self.call.role, ModelChoice::Fallback).is_some();
        has_fallback && failures >= self.ports.settings().outages.attempts_before_fallback
    }

    /// Waits for the next attempt after an attempt without text. Returns the inputs that end this
    /// performance, if it makes no further attempt.
    pub(super) async fn wait_out(
        &self,
        failed_attempt: &FailedAttempt,
        failures: u32,
        silent: &SilentAttempts,
        streak: &mut FailureStreak,
        limits: ModelLimits,
    ) -> Option<Vec<Input>> {
        let FailedAttempt { error, was_suspended, .. } = failed_attempt;
        if *was_suspended {
            return Some(vec![self.stalled_input(silent, error.to_failure())]);
        }
        if !error.kind.is_retryable() || self.leaves_to_fallback(failures) {
            return Some(self.end_after(silent, self.fall_back_or_give_up(error)));
        }
        match self.next_attempt(streak, error, failures) {
            NextAttempt::Pause => Some(self.end_after(silent, self.fall_back_or_give_up(error))),
            NextAttempt::Delay { until_ms } => Some(self.delay_after(silent, streak, until_ms)),
            NextAttempt::Wait(wait) => {
                let has_waited = self.hold_for(wait, streak, limits).await;
                (!has_waited).then(|| self.postpone_after(silent, streak))
            }
        }
    }

    /// Waits until the provider takes calls again, if another call of this process was asked to wait. This is no
    /// failure of the call.
    ///
    /// # Errors
    /// Returns the failure of an attempt that is not made if the wait is too long for this invocation.
    pub(super) async fn wait_with_others(
        &self,
        streak: &mut FailureStreak,
        limits: ModelLimits,
    ) -> Result<(), ModelError> {
        let clock = self.ports.clock();
        let outages = &self.ports.settings().outages;
        let rate_limits = self.ports.rate_limits();
        while let Some(remaining) = rate_limits.remaining_wait(self.model_name(), clock.now_ms()) {
            let wait = outages.backoff(1, Some(remaining), clock.jitter());
            let fits = streak.held().saturating_add(wait) <= outages.held;
            if !fits || !self.hold_for(wait, streak, limits).await {
                return Err(ModelError {
                    kind: ModelErrorKind::Overloaded,
                    detail: "another call was asked to wait".to_owned(),
                    retry_after: Some(remaining),
                    usage: Usage::default(),
                });
            }
        }
        Ok(())
    }

    /// Shares the provider's requested wait with the other calls of this process.
    pub(super) fn share_wait(&self, error: &ModelError) {
        let wait = error.retry_after.filter(|_| error.kind == ModelErrorKind::Overloaded);
        if let Some(wait) = wait {
            let now_ms = self.ports.clock().now_ms();
            self.ports.rate_limits().note_wait(self.model_name(), wait, now_ms);
        }
    }

    /// Decides about the next attempt after a temporary failure.
    pub(super) fn next_attempt(
        &self,
        streak: &mut FailureStreak,
        error: &ModelError,
        failures: u32,
    ) -> NextAttempt {
        let clock = self.ports.clock();
        let now_ms = clock.now_ms();
        let since_ms = streak.begin(now_ms);
        let retry_after = error.retry_after;
        let held_for = streak.held();
        let failure =
            PassingFailure { count: failures, since_ms, requested: retry_after, held: held_for };
        let next = self.ports.settings().outages.next_attempt(failure, clock.jitter(), now_ms);
        let is_delay = matches!(next, NextAttempt::Delay { .. });
        if is_delay && self.is_optional() { NextAttempt::Pause } else { next }
    }

    /// Waits within this invocation. Returns false if the next attempt would not fit before the deadline.
    pub(super) async fn hold_for(
        &self,
        wait: Duration,
        streak: &mut FailureStreak,
        limits: ModelLimits,
    ) -> bool {
        if !self.has_time_for(wait.saturating_add(limits.call_timeout)) {
            return false;
        }
        streak.add_wait(wait);
        self.ports.clock().sleep(wait).await;
        true
    }

    /// Waits before the first attempt of an invocation that continues a call. Returns false if the attempt
    /// would not fit before the deadline. The first effect of an invocation gets all remaining time, so even
    /// a very long call can be made.
    pub(super) async fn wait_after_earlier(&self, limits: ModelLimits) -> bool {
        let clock = self.ports.clock();
        let outages = &self.ports.settings().outages;
        let was_delayed = self.call.retry_at_ms.is_some();
        let backoff = outages.backoff(self.call.retries, None, clock.jitter()).min(outages.held);
        let mut wait = if was_delayed { Duration::ZERO } else { backoff };
        if !self.has_time_for(wait.saturating_add(limits.call_timeout)) {
            let left_ms = self.deadline.left_ms(clock.now_ms());
            let left_ms = left_ms.filter(|ms| self.is_first && *ms > 0);
            let Some(left_ms) = left_ms else { return false };
            wait = wait.min(Duration::from_millis(left_ms / 2));
        }
        clock.sleep(wait).await;
        true
    }
}
