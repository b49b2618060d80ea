//! A user's edit of a plan: steps that have begun stay unchanged.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Plan, PlanError, Step, StepDraft, StepId, StepStatus, check_drafts};

/// A step of a user's edit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepEdit {
    /// The id of an existing step; `None` for a new step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<StepId>,
    /// The stage of the step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// The work of the step.
    pub details: String,
    /// The positions (from 1) of the steps in the list that must be completed before.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub depends_on: BTreeSet<usize>,
    /// The agent of the step, empty for any agent; `None` to keep the current agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Plan {
    /// Returns the plan with these steps instead of the steps that have not begun. A step that has begun
    /// keeps its words and dependencies. If the list omits such a step, it precedes all others.
    ///
    /// # Errors
    /// Returns [`PlanError`] if the edit is invalid; the plan is then unchanged.
    pub fn with_edits(
        &self,
        title: &str,
        edits: &[StepEdit],
        max_steps: usize,
    ) -> Result<Self, PlanError> {
        let has_started = |step: &&Step| step.status != StepStatus::NotStarted;
        let edited_ids: BTreeSet<StepId> = edits.iter().filter_map(|edit| edit.id).collect();
        if edited_ids.len() < edits.iter().filter(|edit| edit.id.is_some()).count() {
            return Err(PlanError::bad_command("steps"));
        }
        let missing =
            self.steps.iter().filter(has_started).filter(|step| !edited_ids.contains(&step.id));
        let mut steps: Vec<Step> = missing.cloned().collect();
        let offset = steps.len();
        let mut drafts: Vec<StepDraft> = steps.iter().zip(1..).map(to_draft).collect();
        let mut ids = self.ids;
        for (edit, place) in edits.iter().zip(offset + 1..) {
            let current = match edit.id {
                None => None,
                Some(id) => Some(self.require_step(id)?),
            };
            if edit.details.trim().is_empty() {
                return Err(PlanError::bad_command("details"));
            }
            let unknown = |on: &&usize| !(1..=edits.len()).contains(*on);
            if let Some(on) = edit.depends_on.iter().find(unknown) {
                let number = place - offset;
                let steps = edits.len();
                return Err(PlanError::UnknownDependency { number, on: *on, steps });
            }
            let depends_on = edit.depends_on.iter().map(|on| on + offset).collect();
            let stage = edit.stage.clone();
            let details = edit.details.clone();
            let current_agent = current.as_ref().map(|step| step.agent.clone());
            let agent = edit.agent.clone().or(current_agent).unwrap_or_default();
            let draft = StepDraft { line: place, stage, details, depends_on, agent };
            steps.push(match current {
                Some(step) if has_started(&step) => step.clone(),
                Some(step) => draft.to_step(step.id),
                None => {
                    ids += 1;
                    draft.to_step(StepId(ids))
                }
            });
            drafts.push(draft);
        }
        check_drafts(&drafts, max_steps)?;
        let places: Vec<StepId> = steps.iter().map(|step| step.id).collect();
        for (step, draft) in steps.iter_mut().zip(&drafts) {
            if step.status == StepStatus::NotStarted {
                let on = draft.depends_on.iter().filter_map(|place| places.get(place - 1));
                step.depends_on = on.copied().collect();
            }
        }
        Ok(Self { title: self.title_or_current(title), steps, ids })
    }

    fn require_step(&self, id: StepId) -> Result<&Step, PlanError> {
        let step_ids = || self.steps.iter().map(|step| step.id).collect();
        self.step(id)
            .ok_or_else(|| PlanError::UnknownStep { asked: id.to_string(), known: step_ids() })
    }
}

/// Omits the dependencies, because a step that has begun no longer waits for them.
fn to_draft((step, line): (&Step, usize)) -> StepDraft {
    let stage = step.stage.clone();
    let details = step.details.clone();
    StepDraft { line, stage, details, depends_on: BTreeSet::new(), agent: step.agent.clone() }
}
