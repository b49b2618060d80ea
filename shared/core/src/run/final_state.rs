//! The state of an ended run, whose deliveries are its only due effects.

use std::collections::BTreeSet;

use crate::effect::Delivery;
use crate::input::{ChildEnded, Input};
use crate::status::RunStatus;

/// The state of a run after its end, with its open deliveries.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FinalState {
    pub(super) status: RunStatus,
    pub(super) undelivered: BTreeSet<Delivery>,
    /// The result that a child owes its run.
    pub(super) child_result: Option<Box<ChildEnded>>,
}

impl FinalState {
    /// Creates the state after an end. For a child, the result's delivery is due; for other runs, the removal
    /// of the alarm.
    pub(super) fn of(status: RunStatus, child_result: Option<ChildEnded>) -> Self {
        let delivery = match child_result {
            None => Delivery::AlarmRemoval,
            Some(_) => Delivery::ChildResult,
        };
        let child_result = child_result.map(Box::new);
        Self { status, undelivered: BTreeSet::from([delivery]), child_result }
    }

    /// Returns true if the run waits for an input. An ended run waits only for its deliveries, and for a new
    /// driver to make them.
    pub(super) fn take_input(&mut self, input: &Input) -> bool {
        match input {
            Input::Delivered { delivery } => self.undelivered.remove(delivery),
            Input::Resumed { .. } => !self.undelivered.is_empty(),
            _ => false,
        }
    }
}
