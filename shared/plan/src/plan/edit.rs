//! A plan as a person changes it: what has begun stays as it is.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Plan, PlanError, Step, StepDraft, StepId, StepStatus, check_drafts};

/// A step as a person wants it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepEdit {
    /// The step that it is, if the plan has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<StepId>,
    /// What it belongs to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// What is to be done.
    pub details: String,
    /// The places (from 1) of the steps in the list that must be completed before.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub depends_on: BTreeSet<usize>,
    /// The agent that is to do it, empty for any; nothing where it stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl Plan {
    /// The plan with these steps instead of those that have not begun. A step that has begun keeps its
    /// words and what it waited for; one that is not in the list goes before all others.
    ///
    /// # Errors
    /// [`PlanError`]; the plan is unchanged then.
    pub fn with_edits(
        &self,
        title: &str,
        edits: &[StepEdit],
        max_steps: usize,
    ) -> Result<Self, PlanError> {
        let begun = |step: &&Step| step.status != StepStatus::NotStarted;
        let listed: BTreeSet<StepId> = edits.iter().filter_map(|edit| edit.id).collect();
        if listed.len() < edits.iter().filter(|edit| edit.id.is_some()).count() {
            return Err(PlanError::bad_command("steps"));
        }
        let missing = self.steps.iter().filter(begun).filter(|step| !listed.contains(&step.id));
        let mut steps: Vec<Step> = missing.cloned().collect();
        let kept = steps.len();
        let mut drafts: Vec<StepDraft> = steps.iter().zip(1..).map(to_draft).collect();
        let mut ids = self.ids;
        for (edit, place) in edits.iter().zip(kept + 1..) {
            let known = match edit.id {
                None => None,
                Some(id) => Some(self.require_step(id)?),
            };
            if edit.details.trim().is_empty() {
                return Err(PlanError::bad_command("details"));
            }
            let unknown = |on: &&usize| !(1..=edits.len()).contains(*on);
            if let Some(on) = edit.depends_on.iter().find(unknown) {
                let (number, steps) = (place - kept, edits.len());
                return Err(PlanError::UnknownDependency { number, on: *on, steps });
            }
            let depends_on = edit.depends_on.iter().map(|on| on + kept).collect();
            let (stage, details) = (edit.stage.clone(), edit.details.clone());
            let kept_agent = known.as_ref().map(|step| step.agent.clone());
            let agent = edit.agent.clone().or(kept_agent).unwrap_or_default();
            let draft = StepDraft { line: place, stage, details, depends_on, agent };
            steps.push(match known {
                Some(step) if begun(&step) => step.clone(),
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
        let known = || self.steps.iter().map(|step| step.id).collect();
        self.step(id)
            .ok_or_else(|| PlanError::UnknownStep { asked: id.to_string(), known: known() })
    }
}

/// What a step that has begun waited for is over.
fn to_draft((step, line): (&Step, usize)) -> StepDraft {
    let (stage, details) = (step.stage.clone(), step.details.clone());
    StepDraft { line, stage, details, depends_on: BTreeSet::new(), agent: step.agent.clone() }
}
