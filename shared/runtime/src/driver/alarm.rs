//! The run's recurring alarm, which brings the run back if its driver dies. Also the timer of a run that
//! waits for users or a provider.

use std::collections::BTreeSet;

use djinn_core::status::RunStatus;

use super::background::{BackgroundWork, DriverEvent};
use super::driven_run::DrivenRun;
use super::store_retry::retry_store_call;
use crate::mailbox::read_mailbox;
use crate::port::StoreError;
use crate::port::alarm::{Alarms, Invoker};
use crate::port::journal::Journals;
use crate::sleep::MAX_ALARM_WAIT;
use crate::world::Ports;

/// The run's recurring alarm, as far as this driver knows.
pub(super) struct RunAlarm {
    state: AlarmState,
    /// The end of the wait for the alarm, in Unix milliseconds; `None` before the first attempt. The first attempt
    /// begins with the first model call, so most runs never wait.
    awaited_until_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AlarmState {
    Unset,
    Pending,
    Set,
    /// The deployment does not allow alarms.
    Denied,
}

impl RunAlarm {
    pub(super) fn new<P: Ports>(run: &DrivenRun<P>) -> Self {
        // A child is brought back by the alarm of its root run.
        let state = if run.is_task() { AlarmState::Set } else { AlarmState::Unset };
        Self { state, awaited_until_ms: None }
    }

    /// Returns true if work that relies on the alarm must wait for the alarm: the alarm is neither set nor denied,
    /// and the wait is not over. A run whose driver dies without an alarm waits for its next visitor.
    pub(super) fn is_awaited(&self, now_ms: i64) -> bool {
        let is_missing = matches!(self.state, AlarmState::Unset | AlarmState::Pending);
        is_missing && self.awaited_until_ms.is_none_or(|until_ms| until_ms > now_ms)
    }

    /// Returns the end of the wait for the alarm, in Unix milliseconds. `None` if there is no wait, or if it is
    /// over.
    pub(super) fn next_wake_ms(&self, now_ms: i64) -> Option<i64> {
        self.awaited_until_ms.filter(|_| self.is_awaited(now_ms))
    }

    /// Returns true if an idle driver stays until the alarm is set. With a client, the driver stays only for
    /// [`MAX_ALARM_WAIT`]: an open response is billed.
    pub(super) fn holds_driver<P: Ports>(&self, run: &DrivenRun<P>, has_client: bool) -> bool {
        self.is_pending() && (!has_client || self.is_awaited(run.now_ms()))
    }

    /// Returns true while the alarm is being set.
    pub(super) fn is_pending(&self) -> bool {
        self.state == AlarmState::Pending
    }

    /// Sets the alarm in the background, once per invocation, and again after a temporary failure: until it is set,
    /// the alarm stays owed.
    pub(super) fn ensure_set<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        background: &mut BackgroundWork,
    ) {
        if self.state == AlarmState::Unset {
            self.state = AlarmState::Pending;
            self.awaited_until_ms.get_or_insert_with(|| run.after_ms(MAX_ALARM_WAIT));
            let ports = run.ports().clone();
            let key = run.key().clone();
            background.spawn_background(async move {
                let set = retry_store_call(&ports, || ports.alarms().set_alarm(&key)).await;
                DriverEvent::AlarmSet(set)
            });
        }
    }

    /// Takes the result of setting the alarm.
    pub(super) fn on_set(&mut self, outcome: Result<(), StoreError>) {
        self.state = match outcome {
            Ok(()) => AlarmState::Set,
            Err(error) if error.is_retryable() => AlarmState::Unset,
            Err(_) => AlarmState::Denied,
        };
    }
}

/// Sets the timer to the earlier of the first request's expiry and the first delayed call's retry. Removes
/// the timer if there is neither. Returns true on success.
pub(super) async fn set_wake_timer<P: Ports>(run: &DrivenRun<P>) -> bool {
    let alarms = run.ports().alarms();
    let key = run.key();
    let expiry = run.state().next_expiry().map(|(_, at_ms)| at_ms);
    let wake = expiry.into_iter().chain(run.next_retry_ms()).min();
    let outcome = match wake {
        Some(at_ms) => alarms.set_timer(key, at_ms).await,
        None => alarms.remove_timer(key).await,
    };
    // Without a timer the alarm stays; otherwise no process would notice the expiry.
    if let Err(error) = &outcome {
        tracing::warn!(%error, "the run's alarm rings on while it waits");
    }
    outcome.is_ok()
}

/// Removes the recurring alarm of a waiting run, since the timer wakes the run. The lease is already
/// released: a driver woken meanwhile may rely on the alarm. In that case the alarm is set again.
pub(super) async fn park_run<P: Ports>(run: &DrivenRun<P>, recorded_mail: &BTreeSet<String>) {
    if let Err(error) = remove_unneeded_alarm(run, recorded_mail).await {
        tracing::warn!(%error, "the run may be without its alarm until it is answered");
    }
}

async fn remove_unneeded_alarm<P: Ports>(
    run: &DrivenRun<P>,
    recorded_mail: &BTreeSet<String>,
) -> Result<(), StoreError> {
    let ports = run.ports();
    let key = run.key();
    ports.alarms().remove_alarm(key).await?;
    let meta = ports.store().find_meta(key).await?;
    let is_driven = meta.as_ref().is_some_and(|meta| meta.is_driven(run.now_ms()));
    let status = meta.map_or(RunStatus::Failed, |meta| meta.status);
    let mail = read_mailbox(ports, key, &run.session_key()).await?.mail;
    let waits = status == RunStatus::Paused || !is_driven;
    let nothing_new = mail.iter().all(|mail| recorded_mail.contains(&mail.id()));
    if status.has_ended() || (waits && nothing_new) {
        return Ok(());
    }
    ports.alarms().set_alarm(key).await?;
    ports.invoker().kick_run(key, 0).await
}
