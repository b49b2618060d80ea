//! An ended run, which owes nothing but its deliveries.

use std::collections::BTreeSet;

use crate::effect::Delivery;
use crate::input::{ChildEnded, Input};
use crate::status::RunStatus;

/// The state of a run after its end: its deliveries are all that is left.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FinalState {
    pub(super) status: RunStatus,
    pub(super) undelivered: BTreeSet<Delivery>,
    /// What a child owes its run.
    pub(super) child_result: Option<Box<ChildEnded>>,
}

impl FinalState {
    /// A run that has ended so, and owes a delivery. Of a child, what it owes its run is delivered.
    pub(super) fn of(status: RunStatus, child_result: Option<ChildEnded>) -> Self {
        let delivery = match child_result {
            None => Delivery::AlarmRemoval,
            Some(_) => Delivery::ChildResult,
        };
        let child_result = child_result.map(Box::new);
        Self { status, undelivered: BTreeSet::from([delivery]), child_result }
    }

    /// Whether it waits for an input: an ended run only hears of its deliveries, and of a new driver for
    /// them.
    pub(super) fn take_input(&mut self, input: &Input) -> bool {
        match input {
            Input::Delivered { delivery } => self.undelivered.remove(delivery),
            Input::Resumed { .. } => !self.undelivered.is_empty(),
            Input::Started(_)
            | Input::AttemptFailed(_)
            | Input::ModelReplied(_)
            | Input::ModelChanged(_)
            | Input::ModelFailed { .. }
            | Input::ToolStarted { .. }
            | Input::ToolStalled { .. }
            | Input::PlanSaved { .. }
            | Input::AnswerSaved { .. }
            | Input::ToolReturned { .. }
            | Input::FileAdded { .. }
            | Input::StopRequested { .. }
            | Input::ChildEnded(_)
            | Input::Interrupted { .. }
            | Input::HumanResponded(_)
            | Input::HumanRequestExpired { .. }
            | Input::ChildRequested(_)
            | Input::UserMessageAdded(_)
            | Input::PlanEdited(_)
            | Input::LimitReached { .. } => false,
        }
    }
}
