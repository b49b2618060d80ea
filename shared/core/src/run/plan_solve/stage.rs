//! The tasks of a plan, and where each stands.

use crate::budget::{Share, Spent};
use crate::code::ErrorCode;
use crate::entry::Event;
use crate::feedback::FeedbackSettings;
use crate::id::TaskId;
use crate::input::{Redo, TaskEnded};
use crate::plan::{Step, StepId};
use crate::status::RunStatus;

/// A step that is being worked on, or is about to be.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::run) struct Task {
    pub(super) id: TaskId,
    pub(super) step: StepId,
    pub(super) words: String,
    pub(super) before: Before,
    /// How often its run's driver died while it was at work.
    pub(super) crashes: u32,
    pub(in crate::run) stage: Stage,
}

/// What became of the attempt before.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::run) struct Before {
    /// Why it failed.
    pub(in crate::run) failed: Option<String>,
    /// What the user wants otherwise.
    pub(in crate::run) redo: Option<Redo>,
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::run) enum Stage {
    /// A person has to let it begin.
    Held,
    /// It waits for a share of what is left.
    Waiting,
    /// Somebody may be working on it; it may use up so much.
    AtWork(Share),
    /// It is done, and a person is asked whether that is what was wanted.
    Judged(Box<TaskEnded>),
}

impl Task {
    /// What it may use up, if somebody may be working on it.
    pub(in crate::run) fn share(&self) -> Option<Share> {
        match &self.stage {
            Stage::AtWork(share) => Some(*share),
            Stage::Held | Stage::Waiting | Stage::Judged(_) => None,
        }
    }

    /// Whether it takes a place among those at work, or is to have the next.
    pub(in crate::run) fn wants_place(&self) -> bool {
        match &self.stage {
            Stage::Waiting | Stage::AtWork(_) => true,
            Stage::Held | Stage::Judged(_) => false,
        }
    }

    pub(super) fn started(&self) -> (String, Event) {
        let event = Event::TaskStarted { task: self.id.clone(), words: self.words.clone() };
        (format!("{}.start", self.id), event)
    }

    /// How it ends when the work does. `None` if viewers have not seen it begin, or have seen its end.
    pub(super) fn stopped(&self) -> Option<(String, Event)> {
        let event = Event::TaskEnded {
            task: self.id.clone(),
            status: RunStatus::Stopped,
            text: String::new(),
            files: Vec::new(),
            failure: Some(ErrorCode::Stopped.into()),
            spent: Spent::default(),
        };
        self.wants_place().then(|| (format!("{}.end", self.id), event))
    }
}

impl Stage {
    /// Where the first attempt at a step stands.
    pub(super) fn first(step: &Step, settings: &FeedbackSettings) -> Self {
        if settings.confirms_step(step) { Self::Held } else { Self::Waiting }
    }
}

pub(super) fn shown(ended: &TaskEnded) -> Event {
    Event::TaskEnded {
        task: ended.report.task.clone(),
        status: ended.status,
        text: ended.report.text.clone(),
        files: ended.files.iter().rev().filter(|file| !file.internal).cloned().collect(),
        failure: ended.failure.clone(),
        spent: ended.spent,
    }
}
