//! When a driver gives its run to a fresh invocation, and how long what it starts may take until then.

use std::time::Duration;

use djinn_core::journal::Record;
use djinn_core::run::MAX_HOPS;
use djinn_core::tool::EffectClass;

use super::driven_run::DrivenRun;
use crate::deadline::Deadline;
use crate::world::Ports;

/// The end of the invocation, and what else has a driver hand over.
pub(super) struct HandOver {
    deadline: Deadline,
    hops: u32,
    /// The driver has appended a record, and that is all it may.
    follows_record: bool,
}

impl HandOver {
    pub(super) fn new(deadline: Deadline, hops: u32) -> Self {
        Self { deadline, hops, follows_record: false }
    }

    pub(super) fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// When it starts, Unix milliseconds, unless that has come.
    pub(super) fn next_wake_ms(&self, now_ms: i64) -> Option<i64> {
        self.deadline.hand_over_at_ms().filter(|at_ms| *at_ms > now_ms)
    }

    /// Returns true if the invocation is nearly over, or its process is asked to end.
    pub(super) fn is_out_of_time<P: Ports>(&self, run: &DrivenRun<P>) -> bool {
        let starts_at_ms = self.deadline.hand_over_at_ms();
        let is_over = starts_at_ms.is_some_and(|at_ms| at_ms <= run.now_ms());
        !run.has_ended() && (is_over || run.ports().shutdown().is_requested())
    }

    /// Whether nothing may start here any more. One that leaves after a record has the time to wait
    /// for what it has started.
    pub(super) fn has_begun<P: Ports>(&self, run: &DrivenRun<P>) -> bool {
        self.is_out_of_time(run) || (self.follows_record && !run.has_ended())
    }

    /// Takes note of records that joined the journal.
    pub(super) fn on_records<P: Ports>(&mut self, run: &DrivenRun<P>, records: &[Record]) {
        self.follows_record |= run.settings().hand_over_after_record && !records.is_empty();
    }

    /// How long an effect may take if it starts now: its own time-out, or what is left of a fresh
    /// invocation, so that no time-out is too long to ever start. `None`: not in this one.
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
        // A hand-over waits for what must not be repeated, so that may use up half of its margin.
        let margin_ms = match class {
            EffectClass::Once => self.deadline.margin_ms() / 2,
            EffectClass::Read | EffectClass::Idempotent | EffectClass::Agent => 0,
        };
        is_first_effect.then(|| Duration::from_millis(left_ms + margin_ms))
    }

    /// How often the run will have been handed over after this; `None` when that is too often.
    pub(super) fn next_hops(&self) -> Option<u32> {
        (self.hops < MAX_HOPS).then(|| self.hops + 1)
    }
}
