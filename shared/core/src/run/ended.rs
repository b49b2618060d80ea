//! An ended run, which owes nothing but its deliveries.

use std::collections::BTreeSet;

use crate::effect::Delivery;
use crate::entry::Event;
use crate::input::{Input, TaskEnded};
use crate::status::RunStatus;

/// An ended run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub(super) status: RunStatus,
    pub(super) undelivered: BTreeSet<Delivery>,
    /// What a task owes its run.
    pub(super) outcome: Option<Box<TaskEnded>>,
}

impl Ended {
    /// An ended run only hears of its deliveries, and of a new driver for them.
    pub(super) fn next(&mut self, input: &Input) -> Option<Vec<(String, Event)>> {
        match input {
            Input::Delivered { delivery } => self.undelivered.remove(delivery).then(Vec::new),
            Input::Resumed { .. } => (!self.undelivered.is_empty()).then(Vec::new),
            Input::Asked(_)
            | Input::AttemptFailed { .. }
            | Input::ModelReplied(_)
            | Input::ModelChanged(_)
            | Input::ModelFailed { .. }
            | Input::ToolStarted { .. }
            | Input::PlanKept { .. }
            | Input::ToolReturned { .. }
            | Input::FileAdded { .. }
            | Input::StopAsked { .. }
            | Input::TaskEnded(_)
            | Input::Interrupted { .. }
            | Input::HumanAnswered(_)
            | Input::FeedbackExpired { .. }
            | Input::TaskAsks(_)
            | Input::UserSaid(_)
            | Input::PlanEdited(_)
            | Input::LimitReached { .. } => None,
        }
    }
}
