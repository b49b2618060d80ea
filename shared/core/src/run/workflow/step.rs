//! The steps of a workflow's plan: their starts, conditions, lists and ends.

use serde_json::Value;

use super::WorkflowRun;
use crate::agent_loop::TurnUpdate;
use crate::conversation::ChildReport;
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::id::{EntryId, EntryName, StepId, TaskId};
use crate::plan::{MAX_STEP, Plan, Step, StepDraft, StepStatus};
use crate::run::plan_solve::{PreviousAttempt, Task, TaskStage, step_review};
use crate::run::progress::Next;
use crate::settings::RunSettings;
use crate::workflow::{
    MAX_ITEMS, MAX_LIST, MAX_PLAN_STEPS, OnError, Reference, WorkflowStep, parse_result,
};
use djinn_text::truncate::truncate_text;

/// Maximum characters of an item in the stage of its step.
const MAX_ITEM_LABEL: usize = 60;

/// The origin of a step of the plan.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepOrigin {
    /// The place of the step in the workflow.
    pub(super) step: usize,
    /// The item of the step's list, once the list is known.
    pub(super) item: Option<Value>,
    /// The details as the plan showed them; other details are a user's.
    pub(super) details: String,
}

/// The next action after the start of a step.
type StepOutcome = Result<(), Failure>;

impl WorkflowRun {
    /// Returns the step of the workflow for an origin.
    pub(super) fn fixed_step(&self, origin: &StepOrigin) -> Option<&WorkflowStep> {
        self.workflow.steps.get(origin.step)
    }

    /// Writes the plan from the workflow, with the arguments so far.
    pub(super) fn write_plan(&mut self) {
        let drafts = self.workflow.steps.iter().zip(1..).map(|(step, line)| StepDraft {
            line,
            stage: step.id.clone(),
            details: truncate_text(&self.shown_task(step, None), MAX_STEP - step.id.len()),
            depends_on: step.depends_on.iter().map(|place| place + 1).collect(),
            agent: step.agent.clone(),
        });
        let drafts: Vec<StepDraft> = drafts.collect();
        self.plan = Plan::create(&self.workflow.title, &drafts, MAX_PLAN_STEPS).ok();
        let steps = self.plan.iter().flat_map(Plan::steps).enumerate();
        let origin = |(place, step): (usize, &Step)| {
            (step.id, StepOrigin { step: place, item: None, details: step.details.clone() })
        };
        self.origins = steps.map(origin).collect();
    }

    /// Starts every step that can begin, and returns the answer after the last step.
    pub(super) fn start_ready_steps(
        &mut self,
        settings: &RunSettings,
        update: &mut TurnUpdate,
    ) -> Next {
        let mut started = TurnUpdate::default();
        let mut expanded = None;
        loop {
            let ready = self.plan.iter().flat_map(Plan::ready_steps).cloned().collect::<Vec<_>>();
            if ready.is_empty() {
                break;
            }
            for step in &ready {
                let before = self.plan.as_ref().map_or(0, |plan| plan.steps().len());
                if let Err(failure) = self.begin_step(step, settings, &mut started) {
                    update.events.append(&mut started.events);
                    return Next::Fail(failure);
                }
                let after = self.plan.as_ref().map_or(0, |plan| plan.steps().len());
                if after != before
                    || self.plan.as_ref().is_some_and(|plan| plan.step(step.id).is_none())
                {
                    expanded.get_or_insert(step.id);
                }
            }
        }
        // Viewers see the new steps before their starts.
        if let (Some(step), Some(plan)) = (expanded, self.plan.clone()) {
            let id = EntryId::local(EntryName::StepPlan(step));
            update.events.push((id, Event::PlanChanged { plan }));
        }
        update.events.append(&mut started.events);
        update.requests.append(&mut started.requests);
        if self.tasks.is_empty() { Next::Finish(self.answer()) } else { Next::Continue }
    }

    /// Begins a step: skips it if its condition does not hold, repeats it for each item of its list, or starts its
    /// task.
    ///
    /// # Errors
    /// Returns `bad_list` for a list that cannot be used, unless the step may fail.
    fn begin_step(
        &mut self,
        step: &Step,
        settings: &RunSettings,
        update: &mut TurnUpdate,
    ) -> StepOutcome {
        let origin = self.origins.get(&step.id).filter(|origin| origin.item.is_none()).cloned();
        let fixed = origin.as_ref().and_then(|origin| self.fixed_step(origin)).cloned();
        if let Some(fixed) = &fixed {
            let holds = fixed.when.as_ref().is_none_or(|condition| {
                condition.holds(&self.find_value(&condition.reference, None))
            });
            if !holds {
                self.end_step(step.id, None, StepStatus::Skipped, "", update);
                return Ok(());
            }
            if let Some(list) = &fixed.for_each {
                return match self.list_items(list) {
                    Ok(items) if items.is_empty() => {
                        self.end_step(step.id, None, StepStatus::Skipped, "", update);
                        Ok(())
                    }
                    Ok(items) => {
                        self.expand_step(step, fixed, items);
                        Ok(())
                    }
                    Err(failure) if fixed.on_error == OnError::Skip => {
                        let note = failure.sentence(settings.language);
                        self.end_step(step.id, None, StepStatus::Skipped, &note, update);
                        Ok(())
                    }
                    Err(failure) => Err(failure),
                };
            }
        }
        self.start_task(step, settings, update);
        Ok(())
    }

    /// Returns the items of a list.
    fn list_items(&self, list: &Reference) -> Result<Vec<Value>, Failure> {
        let value = self.find_value(list, None);
        let value = value.as_str().map(parse_result).unwrap_or(value);
        let is_small = value.to_string().len() <= MAX_LIST;
        let room = MAX_PLAN_STEPS.saturating_sub(self.origins.len()).min(MAX_ITEMS);
        match value {
            Value::Array(items) if is_small && items.len() <= room => Ok(items),
            _ => Err(Failure::new(ErrorCode::BadList, format!("`{list}`"))),
        }
    }

    /// Replaces a step by a step for each item.
    fn expand_step(&mut self, step: &Step, fixed: &WorkflowStep, items: Vec<Value>) {
        let Some(origin) = self.origins.get(&step.id).cloned() else { return };
        let is_reworded = step.details != origin.details;
        let texts = items.iter().map(|item| {
            let stage = format!("{} ({})", fixed.id, item_label(item));
            let details = if is_reworded {
                self.reworded_task(&step.details, fixed, Some(item))
            } else {
                self.shown_task(fixed, Some(item))
            };
            (stage, details)
        });
        let texts: Vec<(String, String)> = texts.collect();
        let Some(plan) = &mut self.plan else { return };
        let ids = plan.expand_step(step.id, &texts);
        self.origins.remove(&step.id);
        for (id, item) in ids.iter().zip(items) {
            let details = plan.step(*id).map(|step| step.details.clone()).unwrap_or_default();
            // Details of a user stay a user's.
            let details = if is_reworded { String::new() } else { details };
            let origin = StepOrigin { step: origin.step, item: Some(item), details };
            self.origins.insert(*id, origin);
        }
    }

    /// Starts the task of a step, or requests approval.
    fn start_task(&mut self, step: &Step, settings: &RunSettings, update: &mut TurnUpdate) {
        if let Some(plan) = &mut self.plan {
            let _ = plan.set_status(step.id, StepStatus::InProgress, "");
        }
        let origin = self.origins.get(&step.id);
        let fixed = origin.and_then(|origin| self.fixed_step(origin).map(|fixed| (origin, fixed)));
        let description = match fixed {
            Some((origin, fixed)) if origin.details == step.details => {
                self.render_task(fixed, origin.item.as_ref())
            }
            Some((origin, fixed)) => self.reworded_task(&step.details, fixed, origin.item.as_ref()),
            None => step.label(),
        };
        let needs_approval = fixed.is_some_and(|(_, fixed)| fixed.confirm);
        let before = PreviousAttempt::default();
        let mut task = self.next_attempt(step.id, &description, &step.agent, before);
        task.stage = if needs_approval {
            TaskStage::AwaitingApproval
        } else {
            TaskStage::for_step(step, &settings.human)
        };
        match task.stage {
            TaskStage::AwaitingApproval => update.requests.extend(step_review(&task)),
            TaskStage::Queued | TaskStage::Running(_) | TaskStage::InReview(_) => {
                update.events.push(task.start_event());
            }
        }
        self.tasks.push(task);
    }

    /// Ends a step with the report of its task, and starts the steps that waited for it.
    pub(super) fn finish_step(
        &mut self,
        step: StepId,
        report: ChildReport,
        settings: &RunSettings,
        update: &mut TurnUpdate,
    ) -> Next {
        if report.done || report.skipped {
            let status = if report.done { StepStatus::Completed } else { StepStatus::Skipped };
            let note = if report.skipped { report.text.clone() } else { String::new() };
            self.end_step(step, Some(&report), status, &note, update);
            self.reports.insert(step, report);
            return self.start_ready_steps(settings, update);
        }
        let note = report.full_text(settings.language).into_owned();
        let fixed = self.origins.get(&step).and_then(|origin| self.fixed_step(origin));
        // A step that a user added does not end the workflow.
        match fixed.map(|fixed| (fixed.on_error, fixed.id.clone())) {
            Some((OnError::Stop, id)) => {
                self.end_step(step, Some(&report), StepStatus::Blocked, &note, update);
                let reason = report.failure.map(|failure| failure.sentence(settings.language));
                let detail = format!("`{id}`. {}", reason.unwrap_or_default());
                Next::Fail(Failure::new(ErrorCode::StepFailed, detail.trim_end()))
            }
            Some((OnError::Skip, _)) | None => {
                self.end_step(step, Some(&report), StepStatus::Skipped, &note, update);
                self.start_ready_steps(settings, update)
            }
        }
    }

    /// Sets the final status of a step.
    pub(super) fn end_step(
        &mut self,
        step: StepId,
        report: Option<&ChildReport>,
        status: StepStatus,
        note: &str,
        update: &mut TurnUpdate,
    ) {
        if let Some(plan) = &mut self.plan {
            let _ = plan.set_status(step, status, note);
        }
        let first = || TaskId::of(step.0, 1).into();
        let child = report.map_or_else(first, |report| report.child.clone());
        let event = Event::StepChanged { step, status, note: note.to_owned() };
        update.events.push((EntryId::of_child(child, EntryName::Step), event));
    }

    /// Creates the next attempt at a step.
    pub(super) fn next_attempt(
        &mut self,
        step: StepId,
        description: &str,
        agent: &str,
        previous_attempt: PreviousAttempt,
    ) -> Task {
        let attempts = self.attempts.entry(step).or_default();
        *attempts += 1;
        Task {
            id: TaskId::of(step.0, *attempts),
            step,
            description: description.to_owned(),
            agent: agent.to_owned(),
            previous_attempt,
            crashes: 0,
            stage: TaskStage::Queued,
        }
    }
}

/// Returns a short text for an item in a list of steps.
fn item_label(item: &Value) -> String {
    let members = ["name", "title", "id"].into_iter().find_map(|name| item.get(name));
    let value = members.unwrap_or(item);
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_ITEM_LABEL).collect()
}
