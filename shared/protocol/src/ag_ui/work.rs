//! The plan of a run as an activity, replaced as a whole.

use djinn_core::id::StepId;
use djinn_core::plan::{Plan, StepStatus};
use serde_json::{Value, json};

/// The plan of a run, once there is one.
#[derive(Default)]
pub(super) struct CurrentPlan(Option<Plan>);

impl CurrentPlan {
    pub(super) fn replace(&mut self, plan: &Plan) {
        self.0 = Some(plan.clone());
    }

    /// Sets the status of a step. A status that the step cannot have changes nothing.
    pub(super) fn set_status(&mut self, step: StepId, status: StepStatus, note: &str) {
        if let Some(plan) = &mut self.0 {
            let _ = plan.set_status(step, status, note);
        }
    }

    pub(super) fn begin_step(&mut self, step: StepId) {
        self.set_status(step, StepStatus::InProgress, "");
    }

    pub(super) fn to_json(&self) -> Option<Value> {
        let plan = self.0.as_ref()?;
        let steps = plan.steps().iter();
        let steps: Vec<Value> = steps
            .map(|step| json!({"id": step.id, "label": step.label(), "status": step.status}))
            .collect();
        Some(json!({"title": plan.title, "steps": steps}))
    }
}
