//! What people are asked: what is held back until they answer, and the pause that this is.
//!
//! A run is asked about its tasks' calls too: a task tells its run what it asks, and the run tells the
//! task what was answered. So all that people decide stands in one journal, and one moment decides
//! between an answer, another one and no answer in time.

mod children;
mod interrupts;
mod pause;

use std::collections::{BTreeMap, BTreeSet};

use children::ChildWait;

use super::top_up::TopUps;
use super::{Phase, Run};
use crate::agent_loop::AgentLoop;
use crate::effect::{AwaitHuman, Effect};
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::human::{
    Estimate, HumanRequest, HumanResponse, Reason, Resolution, ResponseError, ResponseRecord,
    Subject, TimeoutAction, group_id,
};
use crate::id::{HumanRequestId, MessageId, TaskId};

/// What is asked, and what was.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HumanRequests {
    pending: BTreeMap<HumanRequestId, HumanRequest>,
    resolved: BTreeMap<HumanRequestId, Resolution>,
    /// The message whose model call was interrupted and is not to be made again yet.
    held_message: Option<MessageId>,
    /// How often the model call of a message was interrupted.
    interrupts: BTreeMap<MessageId, u32>,
    children: BTreeMap<TaskId, ChildWait>,
    /// Answers for tasks that have not been delivered.
    undelivered_responses: BTreeMap<HumanRequestId, (TaskId, ResponseRecord)>,
    /// In a task: the versions of what it asks that its run has not been told of.
    unsent_versions: BTreeSet<u32>,
    version: u32,
    response_count: u32,
    paused_since_ms: Option<i64>,
    paused_ms: i64,
    has_ever_requested: bool,
    pub(super) top_ups: TopUps,
}

impl HumanRequests {
    /// Nobody waits for an answer any more.
    pub(super) fn close(&mut self) {
        self.pending.clear();
        self.undelivered_responses.clear();
        self.unsent_versions.clear();
        self.held_message = None;
        self.top_ups.close();
    }

    /// Milliseconds that the run has waited for people, but for the pause that it is in.
    pub(super) fn paused_ms(&self) -> i64 {
        self.paused_ms
    }

    /// Whether all that is owed is a person's answer.
    pub(super) fn is_paused(&self) -> bool {
        self.paused_since_ms.is_some()
    }

    /// Whether the call that writes this message waits for a person.
    pub(super) fn holds_message(&self, message: &MessageId) -> bool {
        self.held_message.as_ref() == Some(message)
    }

    /// Whether the model call that is next waits for a person.
    pub(super) fn holds_model_calls(&self) -> bool {
        self.held_message.is_some() || self.top_ups.has_open_offer()
    }

    /// What is owed because of it.
    pub(super) fn due(&self) -> Vec<Effect> {
        let asks = self.pending.values().map(|ask| {
            let (feedback, until_ms) = (ask.id.clone(), ask.expires_at_ms);
            Effect::AwaitHuman(AwaitHuman { request: feedback, until_ms })
        });
        asks.chain(self.due_deliveries().map(Effect::Deliver)).collect()
    }

    /// The effect as it is owed while people are asked; `None` if it is not.
    pub(super) fn filter_effect(&self, effect: Effect) -> Option<Effect> {
        Some(match effect {
            Effect::CallModel(call)
                if self.top_ups.has_open_offer() || self.holds_message(&call.message) =>
            {
                return None;
            }
            Effect::CallModel(mut call) => {
                call.interrupts = self.interrupts.get(&call.message).copied().unwrap_or_default();
                Effect::CallModel(call)
            }
            Effect::RunChild(mut dispatch) => {
                dispatch.waits = self.is_child_waiting(&dispatch.task);
                Effect::RunChild(dispatch)
            }
            Effect::RunTool(_)
            | Effect::AwaitHuman(_)
            | Effect::Wait { .. }
            | Effect::SavePlan { .. }
            | Effect::Deliver(_) => effect,
        })
    }

    /// What an answer is about, or why it changes nothing.
    fn match_response(
        &self,
        answered: &ResponseRecord,
    ) -> Result<Vec<HumanRequest>, ResponseError> {
        if let Some(ask) = self.pending.get(&answered.request) {
            let stale = answered.digest.as_ref().is_some_and(|digest| *digest != ask.digest);
            return if stale { Err(ResponseError::Stale) } else { Ok(vec![ask.clone()]) };
        }
        if let Some(settled) = self.resolved.get(&answered.request) {
            return Err(ResponseError::AlreadyResolved(settled.clone()));
        }
        // The arguments of one call are none of another's.
        let group = answered.request.as_str();
        let asks = self.pending.values().filter(|ask| group_id(&ask.id) == group);
        let asks: Vec<HumanRequest> = match answered.answer {
            HumanResponse::Modify { .. } => Vec::new(),
            HumanResponse::Confirm
            | HumanResponse::Skip
            | HumanResponse::Stop
            | HumanResponse::Say { .. } => asks.cloned().collect(),
        };
        let stale = |ask: &HumanRequest| {
            answered.digest.as_ref().is_some_and(|digest| *digest != ask.digest)
        };
        if asks.iter().any(stale) {
            return Err(ResponseError::Stale);
        }
        if !asks.is_empty() {
            return Ok(asks);
        }
        let settled = self.resolved.iter().find(|(id, _)| group_id(id) == group);
        Err(settled.map_or(ResponseError::UnknownRequest, |(_, settled)| {
            ResponseError::AlreadyResolved(settled.clone())
        }))
    }
}

impl Run {
    /// What people are asked and have not answered.
    pub fn pending_requests(&self) -> impl Iterator<Item = &HumanRequest> {
        self.human_requests.pending.values()
    }

    /// How something that it asked was answered; `None` while it was not, and if nobody asks it any
    /// more.
    #[must_use]
    pub fn resolution(&self, feedback: &HumanRequestId) -> Option<&Resolution> {
        self.human_requests.resolved.get(feedback)
    }

    /// Whether it has ever asked people.
    #[must_use]
    pub fn has_ever_requested(&self) -> bool {
        self.human_requests.has_ever_requested
    }

    /// What an answer would change: what it is about, or why it changes nothing.
    ///
    /// # Errors
    /// [`ResponseError`] when nothing like it is asked, or was answered before.
    pub fn match_response(
        &self,
        answered: &ResponseRecord,
    ) -> Result<Vec<HumanRequest>, ResponseError> {
        self.human_requests.match_response(answered)
    }

    /// Whether this answer decided anything.
    #[must_use]
    pub fn is_resolved_by(&self, answer_id: &str) -> bool {
        self.human_requests.resolved.values().any(|settled| settled.id == answer_id)
    }

    /// When the first of what is asked is answered by default, Unix milliseconds.
    #[must_use]
    pub fn next_expiry(&self) -> Option<(&HumanRequestId, i64)> {
        let expiring = |ask: &'_ HumanRequest| ask.expires_at_ms.is_some();
        let first = self
            .pending_requests()
            .filter(|ask| expiring(ask))
            .min_by_key(|ask| ask.expires_at_ms)?;
        Some((&first.id, first.expires_at_ms?))
    }

    /// Asks people; viewers of a task see it in its run.
    pub(super) fn request_humans(
        &mut self,
        mut asks: Vec<HumanRequest>,
        reasoning: &str,
        at_ms: i64,
    ) -> Option<(String, Event)> {
        let first = asks.first()?.clone();
        self.human_requests.has_ever_requested = true;
        let expires_at_ms = self.spec.settings.human.expires_at_ms(at_ms);
        for ask in &mut asks {
            // What stopped by itself has no time-out, and that of a task runs in its run.
            let expires = !self.is_child() && ask.subject.interrupt().is_none();
            ask.expires_at_ms = expires_at_ms.filter(|_| expires);
            self.human_requests.pending.insert(ask.id.clone(), ask.clone());
        }
        if self.is_child() {
            self.human_requests.bump_version();
            return None;
        }
        let group = group_id(&first.id);
        let event = Event::HumanRequested {
            group: HumanRequestId::new(group).unwrap_or_else(|_| first.id.clone()),
            reasoning: reasoning.to_owned(),
            risk: asks.iter().map(|ask| ask.risk).max().unwrap_or_default(),
            estimate: asks
                .iter()
                .map(|ask| ask.estimate)
                .reduce(Estimate::combine_with)
                .unwrap_or_default(),
            requests: asks,
        };
        Some((format!("{}.requested", first.id), event))
    }

    /// Takes an answer. `None` if it changes nothing.
    pub(super) fn on_human_responded(
        &mut self,
        answered: &ResponseRecord,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let asks = self.human_requests.match_response(answered).ok()?;
        let mut events = Vec::new();
        for ask in asks {
            let (feedback, digest) = (ask.id.clone(), Some(ask.digest.clone()));
            let own = ResponseRecord { request: feedback, digest, ..answered.clone() };
            events.extend(self.resolve_request(&ask, own, at_ms));
            if self.status().has_ended() {
                break;
            }
        }
        Some(events)
    }

    /// Nobody answered in time. `None` if somebody did.
    pub(super) fn on_request_expired(
        &mut self,
        feedback: &HumanRequestId,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let ask = self.human_requests.pending.get(feedback)?.clone();
        ask.expires_at_ms?;
        let on_timeout = self.spec.settings.human.on_timeout;
        // What others may have written is never let out unasked, silence buys nothing, and answers no
        // question.
        let unasked = [Reason::Untrusted, Reason::Budget, Reason::Clarification];
        let is_no_consent = on_timeout == TimeoutAction::Confirm
            && unasked.iter().any(|unasked| ask.reasons.contains(unasked));
        let answered = ResponseRecord {
            request: feedback.clone(),
            id: String::new(),
            by: None,
            answer: if is_no_consent { HumanResponse::Skip } else { on_timeout.to_response() },
            comment: String::new(),
            digest: None,
            via: None,
        };
        Some(self.resolve_request(&ask, answered, at_ms))
    }

    fn resolve_request(
        &mut self,
        ask: &HumanRequest,
        answered: ResponseRecord,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let settled = Resolution {
            by: answered.by.clone(),
            response: answered.answer.as_str().to_owned(),
            id: answered.id.clone(),
        };
        self.human_requests.pending.remove(&ask.id);
        self.human_requests.resolved.insert(ask.id.clone(), settled);
        self.human_requests.response_count += 1;
        let mut events = Vec::new();
        if !self.is_child() {
            let event = Event::HumanResolved(Box::new(answered.clone()));
            events.push((format!("{}.resolved", ask.id), event));
        }
        match (&ask.task, &answered.answer) {
            (_, HumanResponse::Stop) => events.extend(self.stop_run(None, at_ms)),
            (Some(task), _) => self.human_requests.queue_response(task, ask.id.clone(), answered),
            (None, _) => events.extend(self.apply_resolution(ask, &answered, at_ms)),
        }
        events
    }

    fn apply_resolution(
        &mut self,
        ask: &HumanRequest,
        answered: &ResponseRecord,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let ResponseRecord { answer, comment, .. } = answered;
        match &ask.subject {
            Subject::Call { .. } | Subject::CallInterrupt { .. } => {
                if let Phase::PlanSolving(solving) = &mut self.phase {
                    let answered =
                        solving.resolve_planner_request(ask, answered, &self.spec.settings);
                    if let Some(plan) = solving.plan() {
                        self.plan_file.set_plan(plan);
                    }
                    return answered
                        .map(|(observed, then)| self.settle(observed, then, at_ms))
                        .unwrap_or_default();
                }
                let agent = self.active_loop();
                let answered =
                    agent.and_then(|agent| agent.resolve_request(&ask.id, answer, comment));
                answered.map(|observed| self.apply_turn_update(observed, at_ms)).unwrap_or_default()
            }
            Subject::StepReview { .. } | Subject::ResultReview { .. } => {
                let Phase::PlanSolving(solving) = &mut self.phase else { return Vec::new() };
                let answered = solving.resolve_step_request(ask, answer, &self.spec.settings);
                let reworded = match (&ask.subject, answer) {
                    (Subject::StepReview { .. }, HumanResponse::Modify { arguments }) => {
                        ask.subject.parse_text(arguments).ok()
                    }
                    _ => None,
                };
                if let Some(plan) = solving.plan().filter(|_| reworded.is_some()) {
                    self.plan_file.set_plan(plan);
                }
                self.record_plan_text(&reworded.unwrap_or_default());
                answered
                    .map(|(observed, then)| self.settle(observed, then, at_ms))
                    .unwrap_or_default()
            }
            Subject::BudgetExtension { .. } => self.resolve_top_up(ask, answer, at_ms),
            Subject::ModelInterrupt { interrupt, .. } => {
                self.human_requests.held_message = None;
                match answer {
                    // Without the model there is nothing to go on with.
                    HumanResponse::Skip | HumanResponse::Stop => {
                        let detail = interrupt.message.clone();
                        self.fail_run(Failure::new(ErrorCode::Interrupted, detail), at_ms)
                    }
                    HumanResponse::Confirm
                    | HumanResponse::Modify { .. }
                    | HumanResponse::Say { .. } => Vec::new(),
                }
            }
        }
    }

    /// Asks people about the calls of the turn that begins.
    pub(super) fn request_call_approvals(
        &mut self,
        asks: Vec<HumanRequest>,
        at_ms: i64,
    ) -> Option<(String, Event)> {
        let words = self.request_reasoning().to_owned();
        self.request_humans(asks, &words, at_ms)
    }

    /// What the model said before it asked for the calls that are open.
    fn request_reasoning(&self) -> &str {
        match &self.phase {
            Phase::Reacting(agent) => agent.open_turn_text(),
            Phase::PlanSolving(solving) => solving.request_reasoning(),
            Phase::Summarizing(_) | Phase::Ended(_) => "",
        }
    }

    /// The loop whose turn it is.
    pub(super) fn active_loop(&mut self) -> Option<&mut AgentLoop> {
        match &mut self.phase {
            Phase::Reacting(agent) => Some(agent),
            Phase::PlanSolving(solving) => solving.active_planner(),
            Phase::Summarizing(_) | Phase::Ended(_) => None,
        }
    }
}
