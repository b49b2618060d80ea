//! The children of a run: which were dispatched, which others work on, and when these are looked after.

use std::collections::BTreeSet;

use djinn_core::effect::Effect;
use djinn_core::id::ChildId;

use super::driven_run::DrivenRun;
use crate::world::Ports;

/// The children of the run that is driven, as far as is known here.
pub(super) struct Children {
    /// Children that somebody has dispatched before.
    dispatched: BTreeSet<ChildId>,
    /// Children that others work on, or that could not be dispatched.
    remote: BTreeSet<ChildId>,
    /// When those are looked after, Unix milliseconds.
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

    /// When the children that others work on are looked after, Unix milliseconds.
    pub(super) fn next_wake_ms<P: Ports>(&self, run: &DrivenRun<P>) -> Option<i64> {
        self.has_remote(run).then_some(self.redispatch_at_ms)
    }

    pub(super) fn on_timer<P: Ports>(&mut self, now_ms: i64, run: &DrivenRun<P>) {
        if self.has_remote(run) && self.redispatch_at_ms <= now_ms {
            self.redispatch_at_ms = run.after_ms(run.settings().dispatch_every);
            self.redispatch_all();
        }
    }

    /// Whether children are at work in other invocations.
    pub(super) fn has_remote<P: Ports>(&self, run: &DrivenRun<P>) -> bool {
        !run.has_ended() && !self.remote.is_empty()
    }

    /// Whether others work on this child.
    pub(super) fn is_remote(&self, child: &ChildId) -> bool {
        self.remote.contains(child)
    }

    /// Returns true if all that the run owes is to hear of moments and of children that others work on, and calls of
    /// providers that it waits for: it can do nothing before a moment or a message comes.
    pub(super) fn is_only_waiting<P: Ports>(&self, run: &DrivenRun<P>) -> bool {
        let now_ms = run.now_ms();
        let waits = |effect: &Effect| match effect {
            Effect::Wait { .. } | Effect::AwaitHuman(_) => true,
            Effect::RunChild(dispatch) => dispatch.waits || self.is_remote(&dispatch.child),
            Effect::CallModel(_) => effect.delayed_until_ms().is_some_and(|at_ms| at_ms > now_ms),
            Effect::RunTool(_)
            | Effect::SavePlan { .. }
            | Effect::SaveAnswer(_)
            | Effect::Deliver(_) => false,
        };
        !run.has_ended() && run.state().due().iter().all(waits)
    }

    /// Notes that a child is dispatched. Returns whether somebody may have created it before.
    pub(super) fn begin_dispatch(&mut self, child: &ChildId) -> bool {
        !self.dispatched.insert(child.clone())
    }

    /// Leaves a child to others. Returns whether it is the first of those that are.
    pub(super) fn leave_to_others<P: Ports>(&mut self, child: ChildId, run: &DrivenRun<P>) -> bool {
        let is_first = !self.has_remote(run);
        if is_first {
            // Those that begin together have time to begin before they are looked after.
            self.redispatch_at_ms = run.after_ms(run.settings().dispatch_every);
        }
        self.remote.insert(child);
        is_first
    }

    /// Has all children dispatched again that others work on: whoever does is left alone.
    pub(super) fn redispatch_all(&mut self) {
        self.remote.clear();
    }
}
