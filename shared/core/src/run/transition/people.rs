//! Inputs from users, and inputs that cause human requests.

use super::{Handled, Transition};
use crate::error_code::{ErrorCode, Failure};
use crate::human::{
    HumanRequest, HumanResponse, Interrupt, MAX_INTERRUPT_BYTES, ResponseRecord, Subject,
};
use crate::id::{EntryId, EntryName, HumanRequestId};
use crate::input::{ChildRequest, InterruptTarget, PlanEdit, UserMessage};
use crate::plan::Plan;

impl Transition<'_> {
    /// Processes an interrupt that a user can resolve.
    pub(super) fn on_interrupted(
        &mut self,
        target: &InterruptTarget,
        interrupt: &Interrupt,
    ) -> Handled {
        let end = interrupt.message.floor_char_boundary(MAX_INTERRUPT_BYTES);
        let message = interrupt.message.get(..end).unwrap_or_default().to_owned();
        let interrupt = Interrupt { message, ..interrupt.clone() };
        let request = match target {
            InterruptTarget::Call(call) => {
                self.run.phase.agent_mut()?.interrupt_call(call, &interrupt)?
            }
            InterruptTarget::Message(message) => {
                self.attempts_at(message)?;
                let interruption =
                    self.run.human_requests.interrupt_model_call(message, interrupt)?;
                self.attempts_at(message)?.start_over();
                interruption
            }
        };
        self.ask(vec![request], "");
        Some(())
    }

    /// Processes a user's response, which may resolve several requests.
    pub(super) fn on_human_responded(&mut self, response: &ResponseRecord) -> Handled {
        for request in self.run.human_requests.match_response(response).ok()? {
            let id = request.id.clone();
            let digest = Some(request.digest.clone());
            let own = ResponseRecord { request: id, digest, ..response.clone() };
            self.resolve_request(&request, &own);
            if self.run.status().has_ended() {
                break;
            }
        }
        Some(())
    }

    /// Processes the expiry of a human request.
    pub(super) fn on_request_expired(&mut self, request: &HumanRequestId) -> Handled {
        let on_timeout = self.run.spec.settings.human.on_timeout;
        let (request, response) = self.run.human_requests.default_response(request, on_timeout)?;
        self.resolve_request(&request, &response);
        Some(())
    }

    fn resolve_request(&mut self, request: &HumanRequest, response: &ResponseRecord) {
        self.events.extend(self.run.human_requests.resolve(request, response));
        if response.answer == HumanResponse::Stop {
            self.stop(None);
        } else if request.child.is_none() {
            self.apply_response(request, response);
        }
    }

    fn apply_response(&mut self, request: &HumanRequest, response: &ResponseRecord) {
        match (&request.subject, &response.answer) {
            (Subject::BudgetExtension { used_up, offer }, answer) => {
                if !self.run.ledger.resolve_offer(&request.id, *offer, answer) {
                    self.break_off(used_up.clone());
                } else if self.run.phase.is_working() {
                    self.go_on(None);
                }
            }
            (Subject::ModelInterrupt { interrupt, .. }, answer) => {
                self.run.human_requests.release_model_call();
                // The run cannot continue without the model.
                if matches!(answer, HumanResponse::Skip | HumanResponse::Stop) {
                    let detail = interrupt.message.clone();
                    self.fail(Failure::new(ErrorCode::Interrupted, detail));
                }
            }
            (subject, answer) => {
                if let (Subject::StepReview { .. }, HumanResponse::Modify { arguments }) =
                    (subject, answer)
                {
                    let text = subject.parse_text(arguments).unwrap_or_default();
                    self.run.messages.add_plan_text(&text);
                }
                let before = self.run.phase.plan().cloned();
                let settings = &self.run.spec.settings;
                let work = self.run.phase.work_mut();
                let progress =
                    work.and_then(|work| work.resolve_request(request, response, settings));
                if let Some(progress) = progress {
                    if matches!(subject, Subject::StepReview { .. }) && progress.has_replanned {
                        self.note_plan_change(before, &response.comment);
                    }
                    self.settle(progress);
                }
            }
        }
    }

    /// Adds a user's change of the plan to the planner's next turn.
    fn note_plan_change(&mut self, before: Option<Plan>, comment: &str) {
        if let (Some(before), Some(after)) = (before, self.run.phase.plan().cloned()) {
            self.run.messages.add_plan_change(before, after, comment);
        }
    }

    /// Processes a child's requests. `None` if the child is not at work, or if the requests are not new.
    pub(super) fn on_child_requested(&mut self, request: &ChildRequest) -> Handled {
        self.run.running_children().contains(&request.child).then_some(())?;
        let new = self.run.human_requests.take_child_request(request)?;
        self.ask(new, &request.reasoning);
        Some(())
    }

    /// Adds a user's message. `None` if no further turn can read the message.
    pub(super) fn on_user_message(&mut self, message: &UserMessage) -> Handled {
        self.run.accepts_messages().then_some(())?;
        let event = self.run.messages.add_message(message)?;
        self.events.push(event);
        Some(())
    }

    /// Applies a user's edit of the plan. `None` if the plan has changed or the edit is invalid.
    pub(super) fn on_plan_edited(&mut self, edit: &PlanEdit) -> Handled {
        let plan = self.run.edited_plan(edit)?.ok()?;
        let is_newest = edit.version == self.run.plan_version();
        (is_newest && self.run.messages.add_plan_edit(edit)).then_some(())?;
        let id = EntryId::local(EntryName::PlanEdit(edit.id.clone()));
        let before = self.run.phase.plan().cloned();
        let work = self.run.phase.work_mut()?;
        let progress = work.replace_plan(plan, id, &self.run.spec.settings)?;
        self.note_plan_change(before, "");
        self.settle(progress);
        Some(())
    }
}
