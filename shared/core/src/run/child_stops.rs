//! Children that are to be told to stop.

use std::collections::BTreeSet;

use crate::effect::{Delivery, Effect};
use crate::id::ChildId;

/// Children that were given up while they were at work, and have not been told so.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChildStops {
    undelivered: BTreeSet<ChildId>,
}

impl ChildStops {
    /// Nobody waits for these any more.
    pub(super) fn add(&mut self, children: Vec<ChildId>) {
        self.undelivered.extend(children);
    }

    /// Something was delivered. Whether it was one of these.
    pub(super) fn mark_delivered(&mut self, delivery: &Delivery) -> bool {
        matches!(delivery, Delivery::StopChild(child) if self.undelivered.remove(child))
    }

    /// What is owed to them.
    pub(super) fn due(&self) -> Vec<Effect> {
        self.undelivered.iter().cloned().map(Delivery::StopChild).map(Effect::Deliver).collect()
    }
}
