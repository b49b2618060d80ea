//! The children of a run: dispatched children, children driven elsewhere, and the time of the next check.

use std::collections::BTreeSet;

use djinn_core::effect::Effect;
use djinn_core::id::ChildId;

use super::driven_run::DrivenRun;
use crate::world::Ports;

/// The children of the driven run, as known here.
pub(super) struct Children {
    /// Children dispatched before, by any driver.
    dispatched: BTreeSet<ChildId>,
    /// Children driven elsewhere, and children that could not be dispatched.
    remote: BTreeSet<ChildId>,
    /// The time of the next dispatch of remote children, in Unix milliseconds.
    redispatch_at_ms: i64,
}

impl Children {
    pub(super) fn new<P: Ports>(run: &DrivenRun<P>) -> Self {
        Self {
            dispatched: run.state().running_children().into_iter().collect(),
            remote: BTreeSet::new(),
            redispatch_at_ms: run.after_ms(run.settings().dispatch_every),
        }
    }

    /// Returns the time of the next dispatch of remote children, in Unix milliseconds.
    pub(super) fn next_wake_ms<P: Ports>(&self, run: &DrivenRun<P>) -> Option<i64> {
        self.has_remote(run).then_some(self.redispatch_at_ms)
    }

    pub(super) fn on_timer<P: Ports>(&mut self, now_ms: i64, run: &DrivenRun<P>) {
        if self.has_remote(run) && self.redispatch_at_ms <= now_ms {
            self.redispatch_at_ms = run.after_ms(run.settings().dispatch_every);
            self.redispatch_all();
        }
    }

    /// Returns true if children are at work in other invocations.
    pub(super) fn has_remote<P: Ports>(&self, run: &DrivenRun<P>) -> bool {
        !run.has_ended() && !self.remote.is_empty()
    }

    /// Returns true if the child is driven elsewhere.
    pub(super) fn is_remote(&self, child: &ChildId) -> bool {
        self.remote.contains(child)
    }

    /// Returns true if the run owes only waits, human requests, waiting or remote children, and delayed model
    /// calls. The run can do nothing before a wake time or mail.
    pub(super) fn is_only_waiting<P: Ports>(&self, run: &DrivenRun<P>) -> bool {
        let now_ms = run.now_ms();
        let waits = |effect: &Effect| match effect {
            Effect::Wait { .. } | Effect::AwaitHuman(_) => true,
            Effect::RunChild(dispatch) => dispatch.waits || self.is_remote(&dispatch.child),
            Effect::CallModel(_) => effect.delayed_until_ms().is_some_and(|at_ms| at_ms > now_ms),
            _ => false,
        };
        !run.has_ended() && run.due().iter().all(waits)
    }

    /// Marks a child as dispatched. Returns true if an earlier dispatch may have created the child.
    pub(super) fn begin_dispatch(&mut self, child: &ChildId) -> bool {
        !self.dispatched.insert(child.clone())
    }

    /// Leaves a child to other invocations. Returns true if no other child was remote.
    pub(super) fn leave_to_others<P: Ports>(&mut self, child: ChildId, run: &DrivenRun<P>) -> bool {
        let is_first = !self.has_remote(run);
        if is_first {
            // Children that begin together get time to begin before the next dispatch.
            self.redispatch_at_ms = run.after_ms(run.settings().dispatch_every);
        }
        self.remote.insert(child);
        is_first
    }

    /// Dispatches all remote children again. A child with a driver is left alone.
    pub(super) fn redispatch_all(&mut self) {
        self.remote.clear();
    }
}
