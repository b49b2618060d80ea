//! The planner's list of steps: a graph without cycles, in which ready steps may run at once.
//!
//! A step's id is its position when it was first written (`s1`, `s2`). The step keeps its id as long as the
//! plan has the step. An update with the same words keeps the step's status and note.

mod command;
mod draft;
mod edit;
mod error;
mod expansion;
mod reference;
mod step_list;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::StepId;
use djinn_text::truncate::truncate_text;

pub use command::{PLANNING_TOOL, PlanCommand};
pub use draft::{StepDraft, StepText, parse_drafts};
pub use edit::StepEdit;
pub use error::PlanError;

/// Maximum bytes of a plan's title. Longer titles of models are cut; longer titles of users are rejected.
pub const MAX_TITLE: usize = 1024;

/// Maximum bytes of one step's text.
pub const MAX_STEP: usize = 2 * 1024;

/// The status of a step, in the words of the planning tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// No task has started the step.
    #[default]
    NotStarted,
    /// A task is at work on the step.
    InProgress,
    /// The step is done, and dependent steps can begin.
    Completed,
    /// The step failed, or the planner gave the step up. Dependent steps do not run.
    Blocked,
    /// The planner skipped the step, or finished the plan before the step began.
    Skipped,
}

impl StepStatus {
    /// Returns the word of the planning tool.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
        }
    }

    /// Returns true if dependents of a step with this status can begin.
    #[must_use]
    pub fn unblocks_dependents(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
    }
}

/// One step of a plan: the work of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The id of the step, which a changed plan keeps.
    pub id: StepId,
    /// The stage of the step in a few words; may be empty.
    pub stage: String,
    /// The work of the step.
    pub details: String,
    /// The status, as tasks and the planner have set it.
    pub status: StepStatus,
    /// The planner's note about the step.
    pub note: String,
    /// The steps that must be completed before.
    pub depends_on: BTreeSet<StepId>,
    /// The agent of the step; empty for any agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
}

impl Step {
    /// Returns the step with the planner's current agent, unless the step has begun.
    fn with_agent_of(&self, draft: &StepDraft) -> Self {
        let agent = match self.status {
            StepStatus::NotStarted => &draft.agent,
            StepStatus::InProgress
            | StepStatus::Completed
            | StepStatus::Blocked
            | StepStatus::Skipped => &self.agent,
        };
        Self { agent: agent.clone(), ..self.clone() }
    }

    /// Returns the step in one line: `stage: details`.
    #[must_use]
    pub fn label(&self) -> String {
        match self.stage.as_str() {
            "" => self.details.clone(),
            stage => format!("{stage}: {}", self.details),
        }
    }
}

/// A plan with at least one step and without cycles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The purpose of the plan.
    pub title: String,
    steps: Vec<Step>,
    /// The number of steps that the plan has ever had.
    ids: u32,
}

impl Plan {
    /// Creates a plan.
    ///
    /// # Errors
    /// Returns [`PlanError`], which the planner reads, if the steps are invalid.
    pub fn create(title: &str, drafts: &[StepDraft], max_steps: usize) -> Result<Self, PlanError> {
        let empty = Self { title: String::new(), steps: Vec::new(), ids: 0 };
        empty.with_steps(title, drafts, max_steps)
    }

    /// Returns the plan with these steps instead. A step with the words of an earlier step keeps its id,
    /// status and note. A step at work stays, even if the list omits it.
    ///
    /// # Errors
    /// Returns [`PlanError`], which the planner reads; the plan is then unchanged.
    pub fn with_steps(
        &self,
        title: &str,
        drafts: &[StepDraft],
        max_steps: usize,
    ) -> Result<Self, PlanError> {
        check_drafts(drafts, max_steps)?;
        let mut ids = self.ids;
        let mut remaining_steps: Vec<&Step> = self.steps.iter().collect();
        let mut steps: Vec<Step> = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let same = remaining_steps
                .iter()
                .position(|step| step.stage == draft.stage && step.details == draft.details);
            steps.push(match same {
                Some(place) => remaining_steps.remove(place).with_agent_of(draft),
                None => {
                    ids += 1;
                    draft.to_step(StepId(ids))
                }
            });
        }
        let new_ids: Vec<StepId> = steps.iter().map(|step| step.id).collect();
        for (step, draft) in steps.iter_mut().zip(drafts) {
            let on = draft.depends_on.iter().filter_map(|number| new_ids.get(number - 1));
            step.depends_on = on.copied().collect();
        }
        let running =
            remaining_steps.into_iter().filter(|step| step.status == StepStatus::InProgress);
        let new_ids: BTreeSet<StepId> = new_ids.into_iter().collect();
        for step in running {
            let mut step = step.clone();
            step.depends_on.retain(|id| new_ids.contains(id));
            steps.push(step);
        }
        Ok(Self { title: self.title_or_current(title), steps, ids })
    }

    /// Returns the new title, or the current title if the new title is empty.
    fn title_or_current(&self, title: &str) -> String {
        let title = if title.is_empty() { &self.title } else { title };
        truncate_text(title, MAX_TITLE)
    }

    /// Returns the title, and the texts and notes of the steps, for changes.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let Self { title, steps, ids: _ } = self;
        let of_steps =
            steps.iter_mut().flat_map(|Step { stage, details, note, .. }| [stage, details, note]);
        std::iter::once(title).chain(of_steps)
    }

    /// Returns the plan as a Markdown list for users.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let step = |step: &Step| {
            let mark = if step.status == StepStatus::Completed { "x" } else { " " };
            let state = match step.status {
                StepStatus::InProgress => " …",
                StepStatus::Blocked => " (blocked)",
                StepStatus::Skipped => " (skipped)",
                StepStatus::NotStarted | StepStatus::Completed => "",
            };
            let note = match step.note.as_str() {
                "" => String::new(),
                note => format!("\n  {}", note.replace('\n', "\n  ")),
            };
            format!("- [{mark}] {} {}{state}{note}\n", step.id, step.label())
        };
        let steps: String = self.steps.iter().map(step).collect();
        match self.title.as_str() {
            "" => steps,
            title => format!("# {title}\n\n{steps}"),
        }
    }

    /// Sets a step's status, and its note unless the new note is empty. A note longer than a step is cut.
    ///
    /// # Errors
    /// Returns [`PlanError::UnknownStep`] if the plan has no such step.
    pub fn set_status(
        &mut self,
        id: StepId,
        status: StepStatus,
        note: &str,
    ) -> Result<(), PlanError> {
        let step_ids = || self.steps.iter().map(|step| step.id).collect();
        let Some(place) = self.steps.iter().position(|step| step.id == id) else {
            return Err(PlanError::UnknownStep { asked: id.to_string(), known: step_ids() });
        };
        if let Some(step) = self.steps.get_mut(place) {
            step.status = status;
            if !note.is_empty() {
                step.note = truncate_text(note, MAX_STEP);
            }
        }
        Ok(())
    }

    /// Replaces a step's details and removes its stage.
    pub fn reword_step(&mut self, id: StepId, details: &str) {
        if let Some(step) = self.steps.iter_mut().find(|step| step.id == id) {
            step.stage.clear();
            details.clone_into(&mut step.details);
        }
    }

    /// Ends all open steps: steps that have not begun are skipped, steps at work are completed.
    pub fn finish_steps(&mut self) {
        for step in &mut self.steps {
            step.status = match step.status {
                StepStatus::NotStarted => StepStatus::Skipped,
                StepStatus::InProgress => StepStatus::Completed,
                ended @ (StepStatus::Completed | StepStatus::Blocked | StepStatus::Skipped) => {
                    ended
                }
            };
        }
    }

    /// Returns the steps in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the step with this id, if the plan has the step.
    #[must_use]
    pub fn step(&self, id: StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == id)
    }

    /// Returns the steps that can start now: not started, with all dependencies completed or skipped.
    pub fn ready_steps(&self) -> impl Iterator<Item = &Step> {
        let status: BTreeMap<StepId, StepStatus> =
            self.steps.iter().map(|step| (step.id, step.status)).collect();
        self.steps.iter().filter(move |step| {
            step.status == StepStatus::NotStarted
                && step
                    .depends_on
                    .iter()
                    .all(|on| status.get(on).is_some_and(|on| on.unblocks_dependents()))
        })
    }

    /// Returns the direct and indirect dependencies of a step.
    #[must_use]
    pub fn transitive_dependencies(&self, id: StepId) -> BTreeSet<StepId> {
        let mut behind = BTreeSet::new();
        let mut next = vec![id];
        while let Some(step) = next.pop().and_then(|id| self.step(id)) {
            next.extend(step.depends_on.iter().filter(|on| behind.insert(**on)));
        }
        behind
    }

    /// Returns true if no step is at work or ready, so that it is the planner's turn.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let working = |step: &Step| step.status == StepStatus::InProgress;
        !self.steps.iter().any(working) && self.ready_steps().next().is_none()
    }

    /// Returns true if every step is completed or skipped.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.steps.iter().all(|step| step.status.unblocks_dependents())
    }
}
fn check_drafts(drafts: &[StepDraft], max_steps: usize) -> Result<(), PlanError> {
    if drafts.is_empty() {
        return Err(PlanError::Empty);
    }
    if drafts.len() > max_steps {
        return Err(PlanError::TooMany { cap: max_steps });
    }
    for draft in drafts {
        let number = draft.line;
        if draft.stage.len() + draft.details.len() > MAX_STEP {
            return Err(PlanError::TooLong { number });
        }
        let unknown = |on: &&usize| !(1..=drafts.len()).contains(*on);
        if let Some(on) = draft.depends_on.iter().find(unknown) {
            return Err(PlanError::UnknownDependency { number, on: *on, steps: drafts.len() });
        }
    }
    // All parts of one line have the same dependencies.
    let on_cycle = find_cyclic_steps(drafts).into_iter();
    let lines: BTreeSet<usize> =
        on_cycle.filter_map(|number| Some(drafts.get(number - 1)?.line)).collect();
    if lines.is_empty() {
        Ok(())
    } else {
        Err(PlanError::Cycle { steps: lines.into_iter().collect() })
    }
}

/// Returns the numbers of the steps on a cycle, which could never become ready.
fn find_cyclic_steps(drafts: &[StepDraft]) -> Vec<usize> {
    let mut waiting: BTreeSet<usize> = (1..=drafts.len()).collect();
    loop {
        let free: Vec<usize> = (1..)
            .zip(drafts)
            .filter(|(number, draft)| {
                waiting.contains(number) && draft.depends_on.iter().all(|on| !waiting.contains(on))
            })
            .map(|(number, _)| number)
            .collect();
        if free.is_empty() {
            return keep_steps_on_cycles(drafts, waiting);
        }
        free.iter().for_each(|number| {
            waiting.remove(number);
        });
    }
}

/// Returns the waiting steps that other waiting steps depend on. Steps that only depend on a cycle are not
/// part of the cycle.
fn keep_steps_on_cycles(drafts: &[StepDraft], mut waiting: BTreeSet<usize>) -> Vec<usize> {
    loop {
        let dependencies: BTreeSet<usize> = (1..)
            .zip(drafts)
            .filter(|(number, _)| waiting.contains(number))
            .flat_map(|(_, draft)| draft.depends_on.iter().copied())
            .collect();
        let on_cycle: BTreeSet<usize> = waiting.intersection(&dependencies).copied().collect();
        if on_cycle == waiting {
            return waiting.into_iter().collect();
        }
        waiting = on_cycle;
    }
}
