//! The tasks of a plan, and where each stands.

use crate::budget::BudgetShare;
use crate::conversation::ChildReport;
use crate::entry::Event;
use crate::human::HumanSettings;
use crate::id::{ChildId, EntryId, EntryName, StepId, TaskId};
use crate::input::{ChildEnded, Revision};
use crate::plan::Step;

/// A step that is being worked on, or is about to be.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::run) struct Task {
    pub(super) id: TaskId,
    pub(super) step: StepId,
    pub(super) description: String,
    /// The agent that is to do it; empty for any.
    pub(super) agent: String,
    pub(super) previous_attempt: PreviousAttempt,
    /// How often its run's driver died while it was at work.
    pub(super) crashes: u32,
    pub(in crate::run) stage: TaskStage,
}

/// What became of the attempt before.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::run) struct PreviousAttempt {
    /// The report of the attempt, if it failed.
    pub(in crate::run) failure: Option<Box<ChildReport>>,
    /// What the user wants otherwise.
    pub(in crate::run) revision: Option<Revision>,
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::run) enum TaskStage {
    /// A person has to let it begin.
    AwaitingApproval,
    /// It waits for a share of what is left.
    Queued,
    /// Somebody may be working on it; it may use up so much.
    Running(BudgetShare),
    /// It is done, and a person is asked whether that is what was wanted.
    InReview(Box<ChildEnded>),
}

impl Task {
    /// What it may use up, if somebody may be working on it.
    pub(in crate::run) fn share(&self) -> Option<BudgetShare> {
        match &self.stage {
            TaskStage::Running(share) => Some(*share),
            TaskStage::AwaitingApproval | TaskStage::Queued | TaskStage::InReview(_) => None,
        }
    }

    /// Whether it takes a place among those at work, or is to have the next.
    pub(in crate::run) fn needs_slot(&self) -> bool {
        match &self.stage {
            TaskStage::Queued | TaskStage::Running(_) => true,
            TaskStage::AwaitingApproval | TaskStage::InReview(_) => false,
        }
    }

    /// The run that works on it.
    pub(super) fn child_id(&self) -> ChildId {
        self.id.clone().into()
    }

    pub(super) fn start_event(&self) -> (EntryId, Event) {
        let event = Event::ChildStarted {
            child: self.child_id(),
            description: self.description.clone(),
            agent: self.agent.clone(),
        };
        (EntryId::of_child(self.id.clone(), EntryName::Start), event)
    }

    /// How it ends when the work does. `None` if viewers have not seen it begin, or have seen its end.
    pub(super) fn stop_event(&self) -> Option<(EntryId, Event)> {
        let event = || Event::child_stopped(self.child_id());
        self.needs_slot().then(|| (EntryId::of_child(self.id.clone(), EntryName::End), event()))
    }
}

impl TaskStage {
    /// Where the first attempt at a step stands.
    pub(super) fn for_step(step: &Step, settings: &HumanSettings) -> Self {
        if settings.needs_step_approval(step) { Self::AwaitingApproval } else { Self::Queued }
    }
}
