//! The lease of a driven run: the renewal times and the result of each renewal.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_core::status::RunStatus;

use super::alarm::{park_run, set_wake_timer};
use super::background::{BackgroundWork, DriverEvent};
use super::closing::{MAX_CLOSING, leave_to_executor};
use super::driven_run::DrivenRun;
use crate::port::clock::{Clock, run_within};
use crate::port::journal::Lease;
use crate::port::lease::{LeaseNote, LeaseRenewal, Leases};
use crate::port::{RunKey, StoreError};
use crate::settings::to_millis;
use crate::sleep::{SleepResult, fall_asleep};
use crate::world::Ports;

/// The lease of the driven run.
pub(super) struct HeldLease {
    lease: Lease,
    has_lapsed: bool,
    renew_at_ms: i64,
    has_open_requests: bool,
}

/// The result of a renewal for the driver.
pub(super) enum RenewalResult {
    /// The driver still holds the lease and continues.
    Held,
    /// Another driver has the run.
    Lost,
}

impl HeldLease {
    /// Wraps a lease taken just now. `has_lapsed`: true if the earlier holder died.
    pub(super) fn new<P: Ports>(lease: Lease, has_lapsed: bool, run: &DrivenRun<P>) -> Self {
        let renew_at_ms = run.after_ms(run.settings().renew_every);
        Self { lease, has_lapsed, renew_at_ms, has_open_requests: false }
    }

    pub(super) fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Returns true if the earlier holder of the lease died.
    pub(super) fn has_lapsed(&self) -> bool {
        self.has_lapsed
    }

    /// Returns the time of the next renewal, in Unix milliseconds. `None` for an ended run.
    pub(super) fn next_wake_ms<P: Ports>(&self, run: &DrivenRun<P>) -> Option<i64> {
        (!run.has_ended()).then_some(self.renew_at_ms)
    }

    pub(super) fn on_timer<P: Ports>(
        &mut self,
        now_ms: i64,
        run: &DrivenRun<P>,
        background: &mut BackgroundWork,
    ) {
        if !run.has_ended() && self.renew_at_ms <= now_ms {
            self.renew_at_ms = i64::MAX;
            self.has_open_requests = has_open_requests(run);
            background.spawn_background(self.renew(run.ports(), run.key()));
        }
    }

    /// Renews the lease, beside the loop.
    pub(super) fn renew<P: Ports>(
        &self,
        ports: &P,
        key: &RunKey,
    ) -> impl Future<Output = DriverEvent> + use<P> {
        let ports = ports.clone();
        let key = key.clone();
        let lease = self.lease.clone();
        let has_open_requests = self.has_open_requests;
        async move {
            let now_ms = ports.clock().now_ms();
            let until_ms = now_ms.saturating_add(to_millis(ports.settings().lease));
            let renewal =
                ports.store().renew_lease(&key, &lease, until_ms, has_open_requests).await;
            DriverEvent::LeaseRenewed { epoch: lease.epoch, renewed: renewal }
        }
    }

    /// Takes the result of renewing the lease of `epoch`.
    pub(super) fn on_renewed<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        epoch: u64,
        renewal: Result<LeaseRenewal, StoreError>,
    ) -> RenewalResult {
        if epoch != self.lease.epoch {
            // The renewal began before this driver released its earlier lease.
            return RenewalResult::Held;
        }
        self.renew_at_ms = run.after_ms(run.settings().renew_every);
        match renewal {
            Ok(LeaseRenewal::Renewed) => RenewalResult::Held,
            // The end of the run removed the lease; remaining deliveries need none.
            Ok(LeaseRenewal::Lost) if run.has_ended() => RenewalResult::Held,
            Ok(LeaseRenewal::Lost) => RenewalResult::Lost,
            Err(error) => {
                // The journal decides, not the lease: continue, and renew again soon.
                tracing::warn!(%error, "lease not renewed");
                RenewalResult::Held
            }
        }
    }

    /// Releases the lease, unless the mailbox has unrecorded mail. Leaves a run to its timer if it waits only
    /// for users or a provider. Also returns the time of the mailbox read, in Unix milliseconds.
    ///
    /// With a client, slow alarms are left to the executor: an open response is billed.
    pub(super) async fn fall_asleep<P: Ports>(
        &self,
        run: &DrivenRun<P>,
        recorded_mail: &BTreeSet<String>,
        has_client: bool,
    ) -> Result<(i64, SleepResult), StoreError> {
        let patience = if has_client { MAX_CLOSING } else { Duration::MAX };
        let session = run.session_key();
        let status = run.state().status();
        let waits_alone =
            run.next_retry_ms().is_some() && run.state().running_children().is_empty();
        let parks = (status == RunStatus::Paused || waits_alone) && !run.is_task();
        let ports = run.ports();
        let timer = async { parks && set_wake_timer(run).await };
        let has_timer = run_within(ports.clock(), patience, timer).await;
        let key = run.key();
        let read_at_ms = run.now_ms();
        let lease = &self.lease;
        let head = run.journal().chain_head();
        let note = LeaseNote { head: &head, has_open_requests: has_open_requests(run) };
        let slept = fall_asleep(ports, key, &session, lease, status, note, recorded_mail).await;
        let slept =
            slept.inspect_err(|error| tracing::warn!(%error, "fell asleep without looking"))?;
        if slept == SleepResult::Asleep {
            let parking = async {
                if has_timer == Some(true) {
                    park_run(run, recorded_mail).await;
                }
            };
            let is_done = run_within(ports.clock(), patience, parking).await.is_some();
            if has_timer.is_none() || !is_done {
                leave_to_executor(run).await;
            }
        }
        Ok((read_at_ms, slept))
    }

    /// Continues under another lease. Returns true if other drivers drove meanwhile.
    pub(super) fn retake<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        lease: Lease,
        has_lapsed: bool,
    ) -> bool {
        let others_drove = lease.epoch > self.lease.epoch + 1;
        // A renewal in flight belongs to the earlier lease.
        *self = Self::new(lease, has_lapsed, run);
        others_drove
    }

    /// Releases the lease for the next driver of the run.
    pub(super) async fn release<P: Ports>(&self, run: &DrivenRun<P>) {
        let store = run.ports().store();
        let head = run.journal().chain_head();
        let note = LeaseNote { head: &head, has_open_requests: has_open_requests(run) };
        let status = RunStatus::Running;
        let outcome = store.release_lease(run.key(), &self.lease, status, Some(note)).await;
        if let Err(error) = outcome {
            let lapses_in_ms = to_millis(run.settings().lease);
            tracing::warn!(%error, lapses_in_ms, "lease not released");
        }
    }
}

fn has_open_requests<P: Ports>(run: &DrivenRun<P>) -> bool {
    run.state().pending_requests().next().is_some()
}
