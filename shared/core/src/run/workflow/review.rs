//! Approvals of a workflow's steps, and reviews of their results.

use super::{WorkflowRun, to_progress};
use crate::agent_loop::TurnUpdate;
use crate::conversation::ChildReport;
use crate::entry::Event;
use crate::human::{HumanRequest, HumanResponse, ResponseRecord};
use crate::id::{EntryId, EntryName};
use crate::input::{ChildEnded, Revision};
use crate::run::plan_solve::{PreviousAttempt, Task, TaskStage, is_waiting_for};
use crate::run::progress::{Next, WorkUpdate};
use crate::settings::RunSettings;

impl WorkflowRun {
    /// Processes a response about a step or its result. `None` if no task waits for the response.
    pub(super) fn resolve_step_request(
        &mut self,
        ask: &HumanRequest,
        response: &ResponseRecord,
        settings: &RunSettings,
    ) -> Option<WorkUpdate> {
        let place = self.tasks.iter().position(|task| is_waiting_for(task, ask))?;
        let mut task = self.tasks.remove(place);
        let mut update = TurnUpdate::default();
        let next = match (std::mem::replace(&mut task.stage, TaskStage::Queued), &response.answer) {
            (TaskStage::InReview(ended), _) => {
                self.resolve_review(&task, *ended, (ask, response), settings, &mut update)
            }
            (_, HumanResponse::Confirm) => {
                update.events.push(task.start_event());
                self.tasks.push(task);
                Next::Continue
            }
            (_, HumanResponse::Modify { arguments }) => {
                if let Ok(details) = ask.subject.parse_text(arguments)
                    && let Some(plan) = &mut self.plan
                {
                    plan.reword_step(task.step, &details);
                    task.description = details;
                    let event = Event::PlanChanged { plan: plan.clone() };
                    update.events.push((EntryId::local(EntryName::StepPlan(task.step)), event));
                }
                update.events.push(task.start_event());
                self.tasks.push(task);
                Next::Continue
            }
            (_, HumanResponse::Skip | HumanResponse::Stop) => {
                self.finish_step(task.step, skipped_report(&task, ""), settings, &mut update)
            }
            (_, HumanResponse::Say { text }) => {
                self.finish_step(task.step, skipped_report(&task, text), settings, &mut update)
            }
        };
        Some(to_progress(update, next))
    }

    /// Processes the review of a step's result.
    fn resolve_review(
        &mut self,
        task: &Task,
        ended: ChildEnded,
        (ask, response): (&HumanRequest, &ResponseRecord),
        settings: &RunSettings,
        update: &mut TurnUpdate,
    ) -> Next {
        let mut report = ended.report;
        match &response.answer {
            // Completed work is kept without a review.
            HumanResponse::Confirm | HumanResponse::Skip | HumanResponse::Stop => {}
            HumanResponse::Modify { arguments } => {
                if let Ok(text) = ask.subject.parse_text(arguments) {
                    report.text = text;
                    report.edit_comment = Some(response.comment.clone());
                }
            }
            HumanResponse::Say { text } => {
                let revision =
                    Revision { previous_result: report.text, instructions: text.clone() };
                let before = PreviousAttempt { failure: None, revision: Some(revision) };
                let next = self.next_attempt(task.step, &task.description, &task.agent, before);
                update.events.push(next.start_event());
                self.tasks.push(next);
                return Next::Continue;
            }
        }
        self.finish_step(task.step, report, settings, update)
    }
}

/// Returns the report of a step that a user skipped, with the user's text as its result.
fn skipped_report(task: &Task, text: &str) -> ChildReport {
    ChildReport {
        child: task.child_id(),
        description: task.description.clone(),
        text: text.to_owned(),
        failure: None,
        files: Vec::new(),
        done: false,
        skipped: true,
        edit_comment: None,
        truncated: false,
        known_urls: Vec::new(),
    }
}
