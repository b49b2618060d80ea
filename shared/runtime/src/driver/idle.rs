//! Waiting for other invocations with a client attached. An open response costs money, so it ends after a
//! while with nothing to show.

use djinn_core::status::RunStatus;

use super::driven_run::DrivenRun;
use super::hand_over::HandOver;
use super::viewers::Viewers;
use crate::reconnect::MIN_STREAM;
use crate::settings::to_millis;
use crate::world::Ports;

/// The time during which a driver has only waited.
#[derive(Default)]
pub(super) struct IdleTime {
    /// The start of the wait, in Unix milliseconds.
    since_ms: Option<i64>,
}

impl IdleTime {
    /// Resets the wait: the driver has performed an effect.
    pub(super) fn reset(&mut self) {
        self.since_ms = None;
    }

    /// Returns true if an idle driver may keep waiting with its client. Performed effects, and entries shown
    /// to the client, restart the wait; checks on children do not.
    pub(super) fn can_wait<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        viewers: &Viewers,
        hand_over: &HandOver,
    ) -> bool {
        // A user's response may take long: no function waits for it.
        let is_paused = run.state().status() == RunStatus::Paused;
        if is_paused || viewers.open_client().is_none() {
            return false;
        }
        self.since_ms.get_or_insert_with(|| run.now_ms());
        self.next_wake_ms(run, viewers, hand_over).is_some()
    }

    /// Returns true if the wait for a provider is longer than a function should stay up.
    fn waits_long_for_provider<P: Ports>(run: &DrivenRun<P>) -> bool {
        let held_until_ms = run.after_ms(run.settings().outages.held);
        run.next_retry_ms().is_some_and(|at_ms| at_ms > held_until_ms)
    }

    /// Returns the end of the wait, in Unix milliseconds. `None` if there is no wait, or if it is over.
    pub(super) fn next_wake_ms<P: Ports>(
        &self,
        run: &DrivenRun<P>,
        viewers: &Viewers,
        hand_over: &HandOver,
    ) -> Option<i64> {
        let client = viewers.client()?;
        let since_ms = self.since_ms?;
        if !hand_over.deadline().is_known() {
            // A local process is not billed by the second.
            return Some(i64::MAX);
        }
        let longest = if !client.connection().can_resume() {
            run.settings().idle_stream_unresumable
        } else if Self::waits_long_for_provider(run) {
            // A client that reconnects at once costs at most one invocation a second.
            MIN_STREAM
        } else {
            run.settings().idle_stream
        };
        let until_ms = since_ms.max(client.last_shown_ms()).saturating_add(to_millis(longest));
        (until_ms > run.now_ms()).then_some(until_ms)
    }
}
