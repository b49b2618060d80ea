//! Waiting for others with a client attached: its response is paid for, so it ends when nothing was to
//! be shown for a while.

use djinn_core::status::RunStatus;

use super::driven_run::DrivenRun;
use super::hand_over::HandOver;
use super::viewers::Viewers;
use crate::reconnect::MIN_STREAM;
use crate::settings::to_millis;
use crate::world::Ports;

/// How long a driver has only waited for others.
#[derive(Default)]
pub(super) struct IdleTime {
    /// Since when it does, Unix milliseconds.
    since_ms: Option<i64>,
}

impl IdleTime {
    /// Begins anew: the driver has performed something.
    pub(super) fn reset(&mut self) {
        self.since_ms = None;
    }

    /// Whether a driver that only waits has a client to wait with, for some time yet. Looking after
    /// children is no work; what it performs by itself, and whatever the client is shown, has it begin anew.
    pub(super) fn can_wait<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        viewers: &Viewers,
        hand_over: &HandOver,
    ) -> bool {
        // People take their time: nobody waits for them with a function.
        let is_paused = run.state().status() == RunStatus::Paused;
        if is_paused || viewers.open_client().is_none() {
            return false;
        }
        self.since_ms.get_or_insert_with(|| run.now_ms());
        self.next_wake_ms(run, viewers, hand_over).is_some()
    }

    /// Returns true if a provider is waited for longer than a function should be.
    fn waits_long_for_provider<P: Ports>(run: &DrivenRun<P>) -> bool {
        let held_until_ms = run.after_ms(run.settings().outages.held);
        run.state().next_retry_ms().is_some_and(|at_ms| at_ms > held_until_ms)
    }

    /// Until when it waits, Unix milliseconds; `None` if it does not, or no longer.
    pub(super) fn next_wake_ms<P: Ports>(
        &self,
        run: &DrivenRun<P>,
        viewers: &Viewers,
        hand_over: &HandOver,
    ) -> Option<i64> {
        let (client, since_ms) = (viewers.client()?, self.since_ms?);
        if !hand_over.deadline().is_known() {
            // A laptop is not paid for by the second.
            return Some(i64::MAX);
        }
        let longest = match client.connection().can_resume() {
            // A client that comes back at once costs no more than one invocation a second.
            true if Self::waits_long_for_provider(run) => MIN_STREAM,
            true => run.settings().idle_stream,
            false => run.settings().idle_stream_unresumable,
        };
        let until_ms = since_ms.max(client.last_shown_ms()).saturating_add(to_millis(longest));
        (until_ms > run.now_ms()).then_some(until_ms)
    }
}
