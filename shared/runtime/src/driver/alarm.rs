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
use crate::world::Ports;

/// The run's recurring alarm, as far as this driver knows.
pub(super) struct RunAlarm {
    state: AlarmState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AlarmState {
    Unset,
    Pending,
    Set,
    /// The deployment does not allow alarms. A run whose driver dies then waits for its next visitor.
    Denied,
}

impl RunAlarm {
    pub(super) fn new<P: Ports>(run: &DrivenRun<P>) -> Self {
        // A child is brought back by the alarm of its root run.
        Self { state: if run.is_task() { AlarmState::Set } else { AlarmState::Unset } }
    }

    /// Returns true if work that relies on the alarm may start: the alarm is set, or never will be.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.state, AlarmState::Set | AlarmState::Denied)
    }

    /// Returns true while the alarm is being set.
    pub(super) fn is_pending(&self) -> bool {
        self.state == AlarmState::Pending
    }

    /// Sets the alarm in the background, once per invocation, and again after a temporary failure.
    pub(super) fn ensure_set<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        background: &mut BackgroundWork,
    ) {
        if self.state == AlarmState::Unset {
            self.state = AlarmState::Pending;
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
    let wake = expiry.into_iter().chain(run.state().next_retry_ms()).min();
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
