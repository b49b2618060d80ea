//! The plan and the children of a run as activities, each replaced as a whole.

use std::collections::BTreeMap;

use djinn_core::id::{Path, StepId};
use djinn_core::plan::{Plan, StepStatus};
use djinn_core::status::RunStatus;
use djinn_text::truncate::truncate_text;
use serde_json::{Value, json};

use super::transcript::Transcript;

/// Maximum bytes of the newest text of a child.
const MAX_TEXT: usize = 2_048;

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

/// The children at work.
#[derive(Default)]
pub(super) struct Children(BTreeMap<Path, Child>);

struct Child {
    description: String,
    agent: String,
    text: String,
}

impl Children {
    pub(super) fn start(
        &mut self,
        path: Path,
        description: &str,
        agent: &str,
        transcript: &mut Transcript,
    ) {
        let (description, agent) = (description.to_owned(), agent.to_owned());
        let child = Child { description, agent, text: String::new() };
        child.send(&path, RunStatus::Running, transcript);
        self.0.insert(path, child);
    }

    /// Shows the newest text of a child.
    pub(super) fn write(&mut self, path: &Path, text: &str, transcript: &mut Transcript) {
        if let Some(child) = self.0.get_mut(path).filter(|_| !text.is_empty()) {
            child.text = truncate_text(text, MAX_TEXT);
            child.send(path, RunStatus::Running, transcript);
        }
    }

    /// Shows the end of a child. The children below it ended with it.
    pub(super) fn end(
        &mut self,
        path: &Path,
        status: RunStatus,
        text: &str,
        transcript: &mut Transcript,
    ) {
        if let Some(mut child) = self.0.remove(path) {
            child.text = truncate_text(text, MAX_TEXT);
            child.send(path, status, transcript);
        }
        self.0.retain(|below, _| !below.is_within(path));
    }

    pub(super) fn send_running(&self, transcript: &mut Transcript) {
        for (path, child) in &self.0 {
            child.send(path, RunStatus::Running, transcript);
        }
    }
}

impl Child {
    fn send(&self, path: &Path, status: RunStatus, transcript: &mut Transcript) {
        let Self { description, agent, text } = self;
        let content =
            json!({"description": description, "agent": agent, "status": status, "text": text});
        transcript.send_activity("CHILD", &format!("child:{path}"), &content);
    }
}
