//! Attempts at a call that failed and sent no text: they are made again on the spot.

use djinn_core::budget::Usage;
use djinn_core::error_code::Failure;
use djinn_core::input::{AttemptFailed, Input};

use super::failure_streak::FailureStreak;
use super::{FailedAttempt, ModelExecution};
use crate::port::model::ModelErrorKind;
use crate::world::Ports;

/// Those of one performance. Nobody has seen anything of them, so the journal hears of them only with
/// what ends it, or where somebody else has to go on counting.
#[derive(Default)]
pub(super) struct SilentAttempts {
    times: u32,
    usage: Usage,
    last: Option<Failure>,
}

impl SilentAttempts {
    pub(super) fn add_attempt(&mut self, broken: &FailedAttempt) {
        // One whose process stood still uses up no retry, and a shorter request is none.
        let is_retry = broken.error.kind != ModelErrorKind::ContextTooLong;
        self.times += u32::from(is_retry && !broken.was_suspended);
        self.usage = self.usage.plus(broken.error.usage);
        self.last = Some(broken.error.to_failure());
    }

    /// The tokens and the money that these attempts cost together.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }
}

impl<P: Ports> ModelExecution<P> {
    /// The call is left to another invocation, after `streak` or without one.
    pub(super) fn postpone_after(
        &self,
        silent: &SilentAttempts,
        streak: &FailureStreak,
    ) -> Vec<Input> {
        let SilentAttempts { times, usage, last } = silent;
        let last = last.as_ref().filter(|_| *times > 0 || usage.is_billed());
        let failed = last.map(|failure| AttemptFailed {
            failing_since_ms: streak.since_ms(),
            ..self.build_attempt_failed(failure.clone(), *usage, *times, false)
        });
        failed.map(Box::new).map(Input::AttemptFailed).into_iter().collect()
    }

    /// The call is left until a moment, Unix milliseconds, at which its provider is asked again.
    pub(super) fn delay_after(
        &self,
        silent: &SilentAttempts,
        streak: &FailureStreak,
        until_ms: i64,
    ) -> Vec<Input> {
        let mut inputs = self.postpone_after(silent, streak);
        if let Some(Input::AttemptFailed(failed)) = inputs.first_mut() {
            failed.retry_at_ms = Some(until_ms);
        }
        inputs
    }

    /// The process stood still in the last of these attempts, and the run may be another's by now: its
    /// journal decides that before anybody pays for the next.
    pub(super) fn stalled_input(&self, silent: &SilentAttempts, failure: Failure) -> Input {
        let failed = self.build_attempt_failed(failure, silent.usage, silent.times + 1, true);
        Input::AttemptFailed(Box::new(failed))
    }

    /// What ends the call, or this model's part in it, and what its attempts cost.
    pub(super) fn end_after(&self, silent: &SilentAttempts, end: Input) -> Vec<Input> {
        let mut inputs = match silent.usage.is_billed() {
            true => self.postpone_after(silent, &FailureStreak::default()),
            false => Vec::new(),
        };
        inputs.push(end);
        inputs
    }

    /// An attempt that had sent text is void, with those before it.
    pub(super) fn void_input(
        &self,
        failure: Failure,
        usage: Usage,
        process_stalled: bool,
        silent: &SilentAttempts,
    ) -> AttemptFailed {
        let (usage, times) = (usage.plus(silent.usage), silent.times + 1);
        let failed = self.build_attempt_failed(failure, usage, times, process_stalled);
        AttemptFailed { silent: false, ..failed }
    }

    /// So many attempts that failed and sent no text.
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
