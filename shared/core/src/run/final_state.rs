//! An ended run, which owes nothing but its deliveries.

use std::collections::BTreeSet;

use crate::effect::Delivery;
use crate::entry::Event;
use crate::input::{ChildEnded, Input};
use crate::status::RunStatus;

/// The state of a run after its end: its deliveries are all that is left.
#[derive(Debug, Clone, PartialEq)]
pub struct FinalState {
    pub(super) status: RunStatus,
    pub(super) undelivered: BTreeSet<Delivery>,
    /// What a task owes its run.
    pub(super) child_result: Option<Box<ChildEnded>>,
}

impl FinalState {
    /// An ended run only hears of its deliveries, and of a new driver for them.
    pub(super) fn apply_input(&mut self, input: &Input) -> Option<Vec<(String, Event)>> {
        match input {
            Input::Delivered { delivery } => self.undelivered.remove(delivery).then(Vec::new),
            Input::Resumed { .. } => (!self.undelivered.is_empty()).then(Vec::new),
            Input::Started(_)
            | Input::AttemptFailed { .. }
            | Input::ModelReplied(_)
            | Input::ModelChanged(_)
            | Input::ModelFailed { .. }
            | Input::ToolStarted { .. }
            | Input::PlanSaved { .. }
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
            | Input::LimitReached { .. } => None,
        }
    }
}
