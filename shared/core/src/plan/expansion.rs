//! Steps whose number becomes known while a plan is at work.

use super::{MAX_STEP, Plan, Step, StepId, StepStatus};
use djinn_text::truncate::truncate_text;

impl Plan {
    /// Replaces a step by a step for each pair of stage and details, and returns their ids. The new steps have the
    /// agent and the dependencies of the old step, and its dependents depend on all of them. Longer texts are cut.
    /// Without pairs, or without the step, nothing changes.
    pub fn expand_step(&mut self, id: StepId, texts: &[(String, String)]) -> Vec<StepId> {
        let Some(place) = self.steps.iter().position(|step| step.id == id) else {
            return Vec::new();
        };
        if texts.is_empty() {
            return Vec::new();
        }
        let old = self.steps.remove(place);
        let first = self.ids;
        let new: Vec<Step> = (first + 1..)
            .zip(texts)
            .map(|(number, (stage, details))| Step {
                id: StepId(number),
                stage: stage.clone(),
                details: truncate_text(details, MAX_STEP.saturating_sub(stage.len())),
                status: StepStatus::NotStarted,
                note: String::new(),
                ..old.clone()
            })
            .collect();
        let ids: Vec<StepId> = new.iter().map(|step| step.id).collect();
        self.ids = ids.last().map_or(first, |last| last.0);
        self.steps.splice(place..place, new);
        for step in &mut self.steps {
            if step.depends_on.remove(&id) {
                step.depends_on.extend(&ids);
            }
        }
        ids
    }
}
