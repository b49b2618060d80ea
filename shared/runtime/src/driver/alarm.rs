//! The run's recurring alarm, which brings it back if its driver dies, and its timer while it waits for people or for a
//! provider.

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
}

impl RunAlarm {
    pub(super) fn new<P: Ports>(run: &DrivenRun<P>) -> Self {
        // Its run's alarm brings a child back.
        Self { state: if run.is_task() { AlarmState::Set } else { AlarmState::Unset } }
    }

    pub(super) fn is_set(&self) -> bool {
        self.state == AlarmState::Set
    }

    /// Whether it is being made.
    pub(super) fn is_pending(&self) -> bool {
        self.state == AlarmState::Pending
    }

    /// Has it made, once in this invocation; again if that failed.
    pub(super) fn ensure_set<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        background: &mut BackgroundWork,
    ) {
        if self.state == AlarmState::Unset {
            self.state = AlarmState::Pending;
            let (ports, key) = (run.ports().clone(), run.key().clone());
            background.spawn_background(async move {
                let set = retry_store_call(&ports, || ports.alarms().set_alarm(&key)).await;
                DriverEvent::AlarmSet(set.is_ok())
            });
        }
    }

    /// It is made, or could not be.
    pub(super) fn on_set(&mut self, is_set: bool) {
        self.state = if is_set { AlarmState::Set } else { AlarmState::Unset };
    }
}

/// Has the run brought back when the first of its requests expires or the first of its delayed calls is made again, if
/// there is such a moment. Returns whether the timer says so.
pub(super) async fn set_wake_timer<P: Ports>(run: &DrivenRun<P>) -> bool {
    let (alarms, key) = (run.ports().alarms(), run.key());
    let expiry = run.state().next_expiry().map(|(_, at_ms)| at_ms);
    let wake = expiry.into_iter().chain(run.state().next_retry_ms()).min();
    let timed = match wake {
        Some(at_ms) => alarms.set_timer(key, at_ms).await,
        None => alarms.remove_timer(key).await,
    };
    // Without a timer the alarm stays, or nobody would notice that time ran out.
    if let Err(error) = &timed {
        tracing::warn!(%error, "the run's alarm rings on while it waits");
    }
    timed.is_ok()
}

/// The run waits at no cost: its recurring alarm goes, since its timer wakes it. It is nobody's now, so whoever has been
/// woken meanwhile may have counted on that alarm: then it is made again.
pub(super) async fn park_run<P: Ports>(run: &DrivenRun<P>, recorded_mail: &BTreeSet<String>) {
    if let Err(error) = remove_unneeded_alarm(run, recorded_mail).await {
        tracing::warn!(%error, "the run may be without its alarm until it is answered");
    }
}

async fn remove_unneeded_alarm<P: Ports>(
    run: &DrivenRun<P>,
    recorded_mail: &BTreeSet<String>,
) -> Result<(), StoreError> {
    let (ports, key) = (run.ports(), run.key());
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
