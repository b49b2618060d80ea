//! The tasks of a plan, and their stages.

use crate::budget::BudgetShare;
use crate::conversation::ChildReport;
use crate::entry::Event;
use crate::human::HumanSettings;
use crate::id::{ChildId, EntryId, EntryName, StepId, TaskId};
use crate::input::{ChildEnded, Revision};
use crate::plan::Step;

/// A step at work or about to start.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::run) struct Task {
    pub(in crate::run) id: TaskId,
    pub(in crate::run) step: StepId,
    pub(in crate::run) description: String,
    /// The agent of the step; empty for any agent.
    pub(in crate::run) agent: String,
    pub(in crate::run) previous_attempt: PreviousAttempt,
    /// The number of crashes of the run's driver while the task was at work.
    pub(in crate::run) crashes: u32,
    pub(in crate::run) stage: TaskStage,
}

/// The result of the previous attempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::run) struct PreviousAttempt {
    /// The report of the attempt, if it failed.
    pub(in crate::run) failure: Option<Box<ChildReport>>,
    /// The user's change to the result.
    pub(in crate::run) revision: Option<Revision>,
}

/// The stage of a task.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::run) enum TaskStage {
    /// The task waits for approval.
    AwaitingApproval,
    /// The task waits for a share of the remaining budget.
    Queued,
    /// The task may be at work, with this budget share.
    Running(BudgetShare),
    /// The task is done, and a user reviews its result.
    InReview(Box<ChildEnded>),
}

impl Task {
    /// Returns the budget share of a task that may be at work.
    pub(in crate::run) fn share(&self) -> Option<BudgetShare> {
        match &self.stage {
            TaskStage::Running(share) => Some(*share),
            _ => None,
        }
    }

    /// Returns true if the task is at work or waits for a slot.
    pub(in crate::run) fn needs_slot(&self) -> bool {
        match &self.stage {
            TaskStage::Queued | TaskStage::Running(_) => true,
            TaskStage::AwaitingApproval | TaskStage::InReview(_) => false,
        }
    }

    pub(in crate::run) fn has_agent(&self) -> bool {
        !self.agent.is_empty()
    }

    pub(in crate::run) fn child_id(&self) -> ChildId {
        self.id.clone().into()
    }

    pub(in crate::run) fn start_event(&self) -> (EntryId, Event) {
        let event = Event::ChildStarted {
            child: self.child_id(),
            description: self.description.clone(),
            agent: self.agent.clone(),
        };
        (EntryId::of_child(self.id.clone(), EntryName::Start), event)
    }

    /// Returns the task's end when the work ends. `None` if viewers have not seen its start, or have seen its
    /// end.
    pub(in crate::run) fn stop_event(&self) -> Option<(EntryId, Event)> {
        let event = || Event::child_stopped(self.child_id());
        self.needs_slot().then(|| (EntryId::of_child(self.id.clone(), EntryName::End), event()))
    }
}

impl TaskStage {
    /// Returns the stage of the first attempt at a step.
    pub(in crate::run) fn for_step(step: &Step, settings: &HumanSettings) -> Self {
        if settings.needs_step_approval(step) { Self::AwaitingApproval } else { Self::Queued }
    }
}
