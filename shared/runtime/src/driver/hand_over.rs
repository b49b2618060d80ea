//! The handoff of a run to a fresh invocation, and the timeouts of effects before the handoff.

use std::time::Duration;

use djinn_core::journal::Record;
use djinn_core::run::MAX_HOPS;
use djinn_core::tool::EffectClass;

use super::driven_run::DrivenRun;
use super::lease::HeldLease;
use super::viewers::Viewers;
use crate::deadline::Deadline;
use crate::port::clock::run_within;
use crate::world::Ports;

/// The maximum time for the invocation of a successor. An open response waits for it.
const MAX_KICK: Duration = Duration::from_secs(1);

/// The end of the invocation, and other reasons for a handoff.
pub(super) struct HandOver {
    deadline: Deadline,
    hops: u32,
    /// True after a record, if the settings ask for a handoff after each record.
    follows_record: bool,
}

impl HandOver {
    pub(super) fn new(deadline: Deadline, hops: u32) -> Self {
        Self { deadline, hops, follows_record: false }
    }

    pub(super) fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Returns the start of the handoff, in Unix milliseconds, or `None` if past.
    pub(super) fn next_wake_ms(&self, now_ms: i64) -> Option<i64> {
        self.deadline.hand_over_at_ms().filter(|at_ms| *at_ms > now_ms)
    }

    /// Returns true if the invocation is nearly over, or its process is asked to end.
    pub(super) fn is_out_of_time<P: Ports>(&self, run: &DrivenRun<P>) -> bool {
        let starts_at_ms = self.deadline.hand_over_at_ms();
        let is_over = starts_at_ms.is_some_and(|at_ms| at_ms <= run.now_ms());
        !run.has_ended() && (is_over || run.ports().shutdown().is_requested())
    }

    /// Returns true if no effect may start here anymore. A handoff after a record still waits for effects in
    /// flight.
    pub(super) fn has_begun<P: Ports>(&self, run: &DrivenRun<P>) -> bool {
        self.is_out_of_time(run) || (self.follows_record && !run.has_ended())
    }

    /// Takes note of new records.
    pub(super) fn on_records<P: Ports>(&mut self, run: &DrivenRun<P>, records: &[Record]) {
        self.follows_record |= run.settings().hand_over_after_record && !records.is_empty();
    }

    /// Returns the timeout of an effect that starts now, or `None` if the effect must wait for a later
    /// invocation. The timeout is `timeout_ms`, or the rest of a fresh invocation for its first effect. So
    /// even an effect with a very long timeout can start.
    pub(super) fn effect_timeout<P: Ports>(
        &self,
        run: &DrivenRun<P>,
        timeout_ms: u64,
        class: EffectClass,
        is_first_effect: bool,
    ) -> Option<Duration> {
        let now_ms = run.now_ms();
        if self.deadline.has_time_for(timeout_ms, now_ms) {
            return Some(Duration::from_millis(timeout_ms));
        }
        let left_ms = self.deadline.left_ms(now_ms).filter(|left_ms| *left_ms > 0)?;
        // A handoff waits for `once` calls, so the timeout may use half of the margin.
        let margin_ms = match class {
            EffectClass::Once => self.deadline.margin_ms() / 2,
            EffectClass::Read | EffectClass::Idempotent | EffectClass::Agent => 0,
        };
        is_first_effect.then(|| Duration::from_millis(left_ms + margin_ms))
    }

    /// Hands the run to a fresh invocation, at a record boundary. Returns false above the limit of handoffs.
    pub(super) async fn hand_over_run<P: Ports>(
        &self,
        run: &DrivenRun<P>,
        lease: &HeldLease,
        viewers: &mut Viewers,
    ) -> bool {
        if self.hops >= MAX_HOPS {
            return false;
        }
        lease.release(run).await;
        let kick = run.kick_successor(self.hops + 1);
        if run_within(run.ports().clock(), MAX_KICK, kick).await.is_none() {
            // The client or the alarm brings the run back.
            tracing::warn!("no successor invoked in time");
        }
        viewers.hand_over_client(run);
        true
    }
}
