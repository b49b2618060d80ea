//! The events of a plan and its tasks.

use serde_json::{Value, json};

use super::notices::{mark_cut, no_result_notice};
use super::{AgentResponse, MAX_SHOWN_STEPS, ResultText, Translator};
use djinn_core::entry::Entry;
use djinn_core::error_code::Failure;
use djinn_core::file::ProductFile;
use djinn_core::id::{ChildId, Path, StepId, TaskId};
use djinn_core::plan::{Plan, Step, StepStatus};

impl Translator {
    pub(super) fn plan_event(&self, id: &str, plan: &Plan, at_ms: i64) -> AgentResponse {
        let all = |of: &dyn Fn(&Step) -> Value| plan.steps().iter().map(of).collect::<Value>();
        // JoyAgent's UI has no word for a skipped step.
        let status = |step: &Step| match step.status {
            StepStatus::Skipped => StepStatus::NotStarted.as_str(),
            StepStatus::NotStarted
            | StepStatus::InProgress
            | StepStatus::Completed
            | StepStatus::Blocked => step.status.as_str(),
        };
        let plan = json!({
            "title": plan.title,
            "stages": all(&|step| json!(step.stage)),
            "steps": all(&|step| json!(step.details)),
            "stepStatus": all(&|step| json!(status(step))),
            "notes": all(&|step| json!(step.note)),
        });
        AgentResponse { plan: Some(plan), ..self.new_event(id, "plan", at_ms) }
    }

    /// Returns the event for a plan changed by the planner.
    pub(super) fn change_plan(&mut self, entry: &Entry, plan: &Plan) -> AgentResponse {
        self.plan = Some(plan.clone());
        self.plan_event(&entry.id.to_string(), plan, entry.at_ms)
    }

    /// Returns the plan again after a step's change. A long plan is shown only after the planner's changes:
    /// otherwise a plan of a thousand steps would fill the stream.
    pub(super) fn apply_step(
        &mut self,
        entry: &Entry,
        step: StepId,
        status: StepStatus,
        note: &str,
    ) -> Option<AgentResponse> {
        let plan = self.plan.as_mut()?;
        if plan.steps().iter().any(|other| other.id == step && other.status == status) {
            return None;
        }
        plan.set_status(step, status, note).ok()?;
        let plan = self.plan.as_ref().filter(|plan| plan.steps().len() <= MAX_SHOWN_STEPS)?;
        Some(self.plan_event(&format!("{}.plan", entry.id), plan, entry.at_ms))
    }

    /// Starts a run below. A run for a step of the plan gets a separate lane.
    pub(super) fn begin_child(
        &mut self,
        entry: &Entry,
        child: &ChildId,
        description: &str,
        agent: &str,
    ) -> Vec<AgentResponse> {
        if !agent.is_empty() {
            self.agents.insert(entry.path.with_child(child.clone()), agent.to_owned());
        }
        self.begin_report(entry, child, description, agent);
        self.begin_search(entry, child, agent);
        match child.task().filter(|_| entry.path.is_root()) {
            Some(task) => {
                let plan = self.apply_step(entry, task.step_id(), StepStatus::InProgress, "");
                self.tasks.push((task.clone(), description.to_owned()));
                let event = self.task_event(&entry.id.to_string(), task, description, entry.at_ms);
                plan.into_iter().chain([event]).collect()
            }
            None => Vec::new(),
        }
    }

    /// Ends a run below. The result of a called agent is shown by the caller's call.
    pub(super) fn end_child(
        &mut self,
        entry: &Entry,
        child: &ChildId,
        (text, files): (&str, &[ProductFile]),
        failure: Option<&Failure>,
    ) -> Vec<AgentResponse> {
        let path = entry.path.with_child(child.clone());
        self.open_requests.forget(&path, None);
        let events = match child.task().filter(|_| entry.path.is_root()) {
            Some(task) => self.end_task(entry, task, (text, files), failure),
            None => self.end_lane(entry, &path, text).0,
        };
        if entry.path.is_root() {
            // Entries of deeper runs may be shown after their own end, but not after the end of this run.
            self.calls.retain(|(caller, _), _| !caller.is_within(&path));
            self.agents.retain(|agent, _| !agent.is_within(&path));
        }
        events
    }

    /// Returns the event that opens a task's lane.
    pub(super) fn task_event(
        &self,
        id: &str,
        task: &TaskId,
        words: &str,
        at_ms: i64,
    ) -> AgentResponse {
        let lane = Some(task.clone());
        AgentResponse { task: Some(words.to_owned()), lane, ..self.new_event(id, "task", at_ms) }
    }

    /// Ends a lane with its result.
    fn end_task(
        &mut self,
        entry: &Entry,
        task: &TaskId,
        (text, files): (&str, &[ProductFile]),
        failure: Option<&Failure>,
    ) -> Vec<AgentResponse> {
        let path = Path::to(task.clone());
        let text = match failure {
            Some(failure) if !text.is_empty() => {
                format!("{}\n\n{text}", failure.sentence(self.language))
            }
            Some(failure) => failure.sentence(self.language),
            None => text.to_owned(),
        };
        let (mut events, ResultText { text, finish }) = self.end_lane(entry, &path, &text);
        events.extend(self.end_report(&path, files, entry.at_ms));
        events.extend(self.end_search(&path, entry.at_ms));
        let line = self.document_line(&path, files).filter(|_| failure.is_none());
        self.tasks.retain(|(other, _)| other != task);
        let text = line.unwrap_or_else(|| match text.trim() {
            "" => no_result_notice(self.language).to_owned(),
            _ => mark_cut(&text, finish, self.language),
        });
        let mut event = self.new_event(&entry.id.to_string(), "task_summary", entry.at_ms);
        event.result_map = json!({"taskSummary": text, "fileList": self.file_list(files)});
        event.task_summary = Some(text);
        event.lane = Some(task.clone());
        events.push(event);
        events
    }
}
