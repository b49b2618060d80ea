//! Children that must receive a stop.

use std::collections::BTreeSet;

use crate::effect::{Delivery, Effect};
use crate::id::ChildId;

/// Children that were given up while at work and have not received their stop.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChildStops {
    undelivered: BTreeSet<ChildId>,
}

impl ChildStops {
    /// Adds children whose run no longer waits for them.
    pub(super) fn add(&mut self, children: Vec<ChildId>) {
        self.undelivered.extend(children);
    }

    /// Returns true if the delivery was a due stop, and removes the stop.
    pub(super) fn mark_delivered(&mut self, delivery: &Delivery) -> bool {
        matches!(delivery, Delivery::StopChild(child) if self.undelivered.remove(child))
    }

    /// Returns the due stops.
    pub(super) fn due(&self) -> Vec<Effect> {
        self.undelivered.iter().cloned().map(Delivery::StopChild).map(Effect::Deliver).collect()
    }
}
