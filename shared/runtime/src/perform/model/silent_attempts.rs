//! Failed attempts without text, repeated at once.

use djinn_core::budget::Usage;
use djinn_core::error_code::Failure;
use djinn_core::input::{AttemptFailed, Input};

use super::failure_streak::FailureStreak;
use super::{FailedAttempt, ModelExecution};
use crate::port::model::ModelErrorKind;
use crate::world::Ports;

/// The silent attempts of one performance. No viewer saw any part. The journal receives the attempts with the
/// final input, or when another performance continues the count.
#[derive(Default)]
pub(super) struct SilentAttempts {
    times: u32,
    usage: Usage,
    last: Option<Failure>,
}

impl SilentAttempts {
    pub(super) fn add_attempt(&mut self, failed_attempt: &FailedAttempt) {
        // An attempt during a suspension and a request with a smaller window count as no retry.
        let is_retry = failed_attempt.error.kind != ModelErrorKind::ContextTooLong;
        self.times += u32::from(is_retry && !failed_attempt.was_suspended);
        self.usage = self.usage.plus(failed_attempt.error.usage);
        self.last = Some(failed_attempt.error.to_failure());
    }

    /// Returns the tokens and the cost of all attempts.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }
}

impl<P: Ports> ModelExecution<P> {
    /// Returns the inputs for leaving the call to another invocation, with the start of `streak`.
    pub(super) fn postpone_after(
        &self,
        silent: &SilentAttempts,
        streak: &FailureStreak,
    ) -> Vec<Input> {
        let SilentAttempts { times, usage, last } = silent;
        let last = last.as_ref().filter(|_| *times > 0 || usage.is_billed());
        let failed_attempt = last.map(|failure| AttemptFailed {
            failing_since_ms: streak.since_ms(),
            ..self.build_attempt_failed(failure.clone(), *usage, *times, false)
        });
        failed_attempt.map(Box::new).map(Input::AttemptFailed).into_iter().collect()
    }

    /// Returns the inputs for delaying the call until `until_ms`, in Unix milliseconds.
    pub(super) fn delay_after(
        &self,
        silent: &SilentAttempts,
        streak: &FailureStreak,
        until_ms: i64,
    ) -> Vec<Input> {
        let mut inputs = self.postpone_after(silent, streak);
        if let Some(Input::AttemptFailed(failed_attempt)) = inputs.first_mut() {
            failed_attempt.retry_at_ms = Some(until_ms);
        }
        inputs
    }

    /// Returns the input for a suspension of the process in the last attempt. Another driver may have the run
    /// by now: the journal decides before the next attempt costs money.
    pub(super) fn stalled_input(&self, silent: &SilentAttempts, failure: Failure) -> Input {
        let failed_attempt =
            self.build_attempt_failed(failure, silent.usage, silent.times + 1, true);
        Input::AttemptFailed(Box::new(failed_attempt))
    }

    /// Returns `end`, preceded by the cost of the attempts.
    pub(super) fn end_after(&self, silent: &SilentAttempts, end: Input) -> Vec<Input> {
        let mut inputs = if silent.usage.is_billed() {
            self.postpone_after(silent, &FailureStreak::default())
        } else {
            Vec::new()
        };
        inputs.push(end);
        inputs
    }

    /// Returns the failure of an attempt that had sent text, now void, and of the silent attempts before.
    pub(super) fn void_input(
        &self,
        failure: Failure,
        usage: Usage,
        process_stalled: bool,
        silent: &SilentAttempts,
    ) -> AttemptFailed {
        let usage = usage.plus(silent.usage);
        let times = silent.times + 1;
        let failed_attempt = self.build_attempt_failed(failure, usage, times, process_stalled);
        AttemptFailed { silent: false, ..failed_attempt }
    }

    /// Builds the failure of silent attempts.
    fn build_attempt_failed(
        &self,
        failure: Failure,
        usage: Usage,
        failed_attempts: u32,
        process_stalled: bool,
    ) -> AttemptFailed {
        AttemptFailed {
            message: self.call.message.clone(),
            attempt: self.call.attempt,
            failure,
            usage,
            process_stalled,
            counts_as_crash: process_stalled,
            failed_attempts,
            silent: true,
            retry_at_ms: None,
            failing_since_ms: None,
        }
    }
}
