//! Approvals of steps, and reviews of their results.

use super::stage::{PreviousAttempt, Task, TaskStage};
use super::{Next, PlanSolve, StepResult, WorkUpdate};
use crate::agent_loop::TurnUpdate;
use crate::conversation::ChildReport;
use crate::entry::Event;
use crate::estimate::Estimate;
use crate::human::{HumanRequest, HumanResponse, Reason, ResponseRecord, Subject, digest_call};
use crate::id::{EntryId, EntryName, HumanRequestId};
use crate::input::{ChildEnded, Revision};
use crate::settings::RunSettings;
use crate::tool::Risk;

impl PlanSolve {
    /// Processes a response about a step or its result. `None` if no task waits for the response.
    pub(super) fn resolve_step_request(
        &mut self,
        ask: &HumanRequest,
        response: &ResponseRecord,
        settings: &RunSettings,
    ) -> Option<WorkUpdate> {
        let answer = &response.answer;
        let place = self.tasks.iter().position(|task| is_waiting_for(task, ask))?;
        let mut task = self.tasks.remove(place);
        let stage = std::mem::replace(&mut task.stage, TaskStage::Queued);
        let mut update = TurnUpdate::default();
        let mut is_reworded = false;
        let next = match (stage, answer) {
            (TaskStage::InReview(ended), _) => {
                self.resolve_review(&task, *ended, (ask, response), place, settings, &mut update)
            }
            (_, HumanResponse::Confirm) => {
                update.events.push(task.start_event());
                self.tasks.insert(place, task);
                Next::Continue
            }
            (_, HumanResponse::Modify { arguments }) => {
                if let Ok(details) = ask.subject.parse_text(arguments)
                    && let Some(plan) = &mut self.plan
                {
                    is_reworded = true;
                    plan.reword_step(task.step, &details);
                    task.description = details;
                    let event = Event::PlanChanged { plan: plan.clone() };
                    update.events.push((EntryId::local(EntryName::StepPlan(task.step)), event));
                }
                update.events.push(task.start_event());
                self.tasks.insert(place, task);
                Next::Continue
            }
            (_, HumanResponse::Skip | HumanResponse::Stop) => {
                self.skip_step(&task, String::new(), settings, &mut update)
            }
            (_, HumanResponse::Say { text }) => {
                self.skip_step(&task, text.clone(), settings, &mut update)
            }
        };
        let progress = WorkUpdate { next, ..WorkUpdate::going_on(update) };
        Some(if is_reworded { progress.with_new_plan() } else { progress })
    }

    /// Skips a step.
    fn skip_step(
        &mut self,
        task: &Task,
        text: String,
        settings: &RunSettings,
        update: &mut TurnUpdate,
    ) -> Next {
        let report = ChildReport {
            child: task.child_id(),
            description: task.description.clone(),
            text,
            failure: None,
            files: Vec::new(),
            done: false,
            skipped: true,
            edit_comment: None,
            truncated: false,
            known_urls: Vec::new(),
        };
        self.finish_step(task.step, StepResult { report, turns: Vec::new() }, settings, update)
    }

    /// Processes the review of a step's result.
    fn resolve_review(
        &mut self,
        task: &Task,
        mut ended: ChildEnded,
        (ask, response): (&HumanRequest, &ResponseRecord),
        place: usize,
        settings: &RunSettings,
        update: &mut TurnUpdate,
    ) -> Next {
        match &response.answer {
            // Completed work is kept without a review.
            HumanResponse::Confirm | HumanResponse::Skip | HumanResponse::Stop => {}
            HumanResponse::Modify { arguments } => {
                if let Ok(text) = ask.subject.parse_text(arguments) {
                    ended.report.text = text;
                    ended.report.edit_comment = Some(response.comment.clone());
                }
            }
            HumanResponse::Say { text } => {
                let revision =
                    Revision { previous_result: ended.report.text, instructions: text.clone() };
                let before = PreviousAttempt { failure: None, revision: Some(revision) };
                let next = self.next_attempt(task.step, &task.description, &task.agent, before);
                update.events.push(next.start_event());
                self.tasks.insert(place, next);
                return Next::Continue;
            }
        }
        self.finish_step(task.step, StepResult::of(&ended), settings, update)
    }
}

/// Returns true if a task waits for this request, to begin or to be reviewed.
pub(in crate::run) fn is_waiting_for(task: &Task, ask: &HumanRequest) -> bool {
    match &task.stage {
        TaskStage::AwaitingApproval => {
            step_review(task).is_some_and(|request| request.id == ask.id)
        }
        TaskStage::InReview(ended) => {
            result_review(task, ended).is_some_and(|request| request.id == ask.id)
        }
        TaskStage::Queued | TaskStage::Running(_) => false,
    }
}

/// Returns the approval request of a step.
pub(in crate::run) fn step_review(task: &Task) -> Option<HumanRequest> {
    let subject = Subject::StepReview { step: task.step, details: task.description.clone() };
    new_request(HumanRequestId::of_step(task.step), Reason::Step, subject)
}

/// Returns the review request of a step's result.
pub(in crate::run) fn result_review(task: &Task, ended: &ChildEnded) -> Option<HumanRequest> {
    let subject = Subject::ResultReview {
        step: task.step,
        details: task.description.clone(),
        text: ended.report.text.clone(),
        files: ended.report.files.clone(),
    };
    new_request(HumanRequestId::of_result(&task.id), Reason::Result, subject)
}

fn new_request(id: HumanRequestId, reason: Reason, subject: Subject) -> Option<HumanRequest> {
    Some(HumanRequest {
        digest: digest_call(&id.to_string(), &subject.parameters()?),
        id,
        child: None,
        subject,
        risk: Risk::Low,
        reasons: vec![reason],
        estimate: Estimate::default(),
        expires_at_ms: None,
    })
}
