//! What people are asked: what is held back until they answer, and the pause that this is.
//!
//! A run is asked about its children's calls too: a child tells its run what it asks, and the run tells the
//! child what was answered. So all that people decide stands in one journal, and one moment decides
//! between an answer, another one and no answer in time.

mod children;
mod interrupts;
mod pause;

use std::collections::BTreeMap;

use children::ChildRequests;
use interrupts::Interrupts;
use pause::Pause;

use crate::effect::{AwaitHuman, Delivery, Effect};
use crate::entry::Event;
use crate::estimate::Estimate;
use crate::human::{
    HumanRequest, HumanResponse, HumanSettings, Interrupt, Reason, Resolution, ResponseError,
    ResponseRecord, TimeoutAction,
};
use crate::id::{ChildId, EntryId, EntryName, HumanRequestId, MessageId, Path};
use crate::input::ChildRequest;

/// What is asked, and what was.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HumanRequests {
    /// Whether this is a child, whose run asks people in its place.
    is_child: bool,
    pending: BTreeMap<HumanRequestId, HumanRequest>,
    resolved: BTreeMap<HumanRequestId, Resolution>,
    interrupts: Interrupts,
    children: ChildRequests,
    pause: Pause,
    response_count: u32,
    has_ever_requested: bool,
}

impl HumanRequests {
    /// Nothing was asked yet, by a child or by a run of a user's.
    pub(super) fn new(is_child: bool) -> Self {
        Self {
            is_child,
            pending: BTreeMap::new(),
            resolved: BTreeMap::new(),
            interrupts: Interrupts::default(),
            children: ChildRequests::default(),
            pause: Pause::default(),
            response_count: 0,
            has_ever_requested: false,
        }
    }

    /// Nobody waits for an answer any more.
    pub(super) fn close(&mut self) {
        self.pending.clear();
        self.children.close();
        self.interrupts.release();
    }

    /// What people are asked and have not answered.
    pub(super) fn pending(&self) -> impl Iterator<Item = &HumanRequest> {
        self.pending.values()
    }

    /// How a request was answered.
    pub(super) fn resolution(&self, request: &HumanRequestId) -> Option<&Resolution> {
        self.resolved.get(request)
    }

    /// Whether this answer decided anything.
    pub(super) fn is_resolved_by(&self, answer_id: &str) -> bool {
        self.resolved.values().any(|resolution| resolution.id == answer_id)
    }

    /// Whether people have ever been asked.
    pub(super) fn has_ever_requested(&self) -> bool {
        self.has_ever_requested
    }

    /// How long the run has waited for people alone.
    pub(super) fn pause(&self) -> &Pause {
        &self.pause
    }

    /// Notes whether all that the run owes is a person's answer. A child tells its run so.
    pub(super) fn update_pause(&mut self, is_awaiting: bool, at_ms: i64) {
        if self.pause.update(is_awaiting, at_ms) && self.is_child {
            self.children.bump_version();
        }
    }

    /// Whether the call that writes this message waits for a person.
    pub(super) fn holds_message(&self, message: &MessageId) -> bool {
        self.interrupts.holds(message)
    }

    /// Whether a model call waits for a person.
    pub(super) fn holds_model_call(&self) -> bool {
        self.interrupts.holds_any()
    }

    /// What is owed because of it.
    pub(super) fn due(&self) -> Vec<Effect> {
        let awaited = self.pending.values().map(|request| {
            let (request, until_ms) = (request.id.clone(), request.expires_at_ms);
            Effect::AwaitHuman(AwaitHuman { request, until_ms })
        });
        awaited.chain(self.children.due().map(Effect::Deliver)).collect()
    }

    /// The effect as it is owed while people are asked; `None` if it is not.
    pub(super) fn filter_effect(&self, effect: Effect) -> Option<Effect> {
        Some(match effect {
            Effect::CallModel(call) if self.holds_message(&call.message) => return None,
            Effect::CallModel(mut call) => {
                call.interrupts = self.interrupts.count_of(&call.message);
                Effect::CallModel(call)
            }
            Effect::RunChild(mut dispatch) => {
                dispatch.waits = self.children.is_waiting(&dispatch.child);
                Effect::RunChild(dispatch)
            }
            Effect::RunTool(_)
            | Effect::AwaitHuman(_)
            | Effect::Wait { .. }
            | Effect::SavePlan { .. }
            | Effect::SaveAnswer(_)
            | Effect::Deliver(_) => effect,
        })
    }

    /// Asks people; what viewers see of it. Those of a child see it in its run.
    pub(super) fn ask(
        &mut self,
        mut requests: Vec<HumanRequest>,
        reasoning: &str,
        settings: &HumanSettings,
        at_ms: i64,
    ) -> Option<(EntryId, Event)> {
        let first = requests.first()?.id.clone();
        self.has_ever_requested = true;
        let expires_at_ms = settings.expires_at_ms(at_ms);
        for request in &mut requests {
            // What stopped by itself has no time-out, and that of a child runs in its run.
            let expires = !self.is_child && request.subject.interrupt().is_none();
            request.expires_at_ms = expires_at_ms.filter(|_| expires);
            self.pending.insert(request.id.clone(), request.clone());
        }
        if self.is_child {
            self.children.bump_version();
            return None;
        }
        let estimates = requests.iter().map(|request| request.estimate);
        let event = Event::HumanRequested {
            group: first.group(),
            reasoning: reasoning.to_owned(),
            risk: requests.iter().map(|request| request.risk).max().unwrap_or_default(),
            estimate: estimates.reduce(Estimate::combine_with).unwrap_or_default(),
            requests,
        };
        Some((EntryId::of_request(&first, EntryName::Requested), event))
    }

    /// Asks whether the model call that writes this message, which was interrupted, is to be made again.
    /// `None` if a person is asked that already.
    pub(super) fn interrupt_model_call(
        &mut self,
        message: &MessageId,
        interrupt: Interrupt,
    ) -> Option<HumanRequest> {
        self.interrupts.hold(message, interrupt)
    }

    /// A person has seen to the model call that was interrupted.
    pub(super) fn release_model_call(&mut self) {
        self.interrupts.release();
    }

    /// Keeps how a request was answered; what viewers see of it. An answer to what a child asked is owed
    /// to that child.
    pub(super) fn resolve(
        &mut self,
        request: &HumanRequest,
        response: &ResponseRecord,
    ) -> Option<(EntryId, Event)> {
        let resolution = Resolution {
            by: response.by.clone(),
            response: response.answer.as_str().to_owned(),
            id: response.id.clone(),
        };
        self.pending.remove(&request.id);
        self.resolved.insert(request.id.clone(), resolution);
        self.response_count += 1;
        let is_stop = response.answer == HumanResponse::Stop;
        if let Some(child) = request.child.as_ref().filter(|_| !is_stop) {
            self.children.queue_response(child, request.id.clone(), response.clone());
        }
        let event = || Event::HumanResolved(Box::new(response.clone()));
        (!self.is_child).then(|| (EntryId::of_request(&request.id, EntryName::Resolved), event()))
    }

    /// What is taken for an answer when nobody has given one in time. `None` if somebody did, or has all
    /// the time.
    pub(super) fn default_response(
        &self,
        request: &HumanRequestId,
        on_timeout: TimeoutAction,
    ) -> Option<(HumanRequest, ResponseRecord)> {
        let request = self.pending.get(request).filter(|found| found.expires_at_ms.is_some())?;
        // What others may have written is never let out unasked, silence buys nothing, and answers no
        // question.
        let unasked = [Reason::Untrusted, Reason::Budget, Reason::Clarification];
        let is_no_consent = on_timeout == TimeoutAction::Confirm
            && unasked.iter().any(|unasked| request.reasons.contains(unasked));
        let answer = if is_no_consent { HumanResponse::Skip } else { on_timeout.to_response() };
        let response = ResponseRecord {
            request: request.id.clone(),
            id: String::new(),
            by: None,
            answer,
            comment: String::new(),
            digest: None,
            via: None,
        };
        Some((request.clone(), response))
    }

    /// Something was delivered. Whether it was owed.
    pub(super) fn mark_delivered(&mut self, delivery: &Delivery) -> bool {
        self.children.mark_delivered(delivery)
    }

    /// A child has ended: nobody answers what it asked.
    pub(super) fn forget_child(&mut self, child: &ChildId) {
        self.children.forget(child);
        self.pending.retain(|_, request| request.child.as_ref() != Some(child));
    }

    /// An answer that is owed to a child.
    pub(super) fn response_for_child(
        &self,
        request: &HumanRequestId,
    ) -> Option<(&ChildId, &ResponseRecord)> {
        self.children.response(request)
    }

    /// What this child asks, as the run above is told.
    pub(super) fn to_child_request(&self, child: &ChildId, reasoning: &str) -> ChildRequest {
        ChildRequest {
            child: child.clone(),
            version: self.children.version(),
            requests: self.pending.values().cloned().collect(),
            reasoning: reasoning.to_owned(),
            response_count: self.response_count,
            paused: self.pause.is_paused(),
        }
    }

    /// A child asks, or waits for what it has asked: what of it is new, under the names that it has here.
    /// `None` if nothing it says is news.
    pub(super) fn take_child_request(&mut self, told: &ChildRequest) -> Option<Vec<HumanRequest>> {
        self.children.update(told).then_some(())?;
        let child = &told.child;
        let way = Path::to(child.clone());
        let named = told.requests.iter().map(|request| {
            let id = request.id.clone().below(&way);
            HumanRequest { id, child: Some(child.clone()), ..request.clone() }
        });
        let is_new = |request: &HumanRequest| {
            !self.pending.contains_key(&request.id) && !self.resolved.contains_key(&request.id)
        };
        Some(named.filter(is_new).collect())
    }

    /// What an answer is about, or why it changes nothing.
    ///
    /// # Errors
    /// [`ResponseError`] when nothing like it is asked, or was answered before.
    pub(super) fn match_response(
        &self,
        response: &ResponseRecord,
    ) -> Result<Vec<HumanRequest>, ResponseError> {
        if let Some(request) = self.pending.get(&response.request) {
            let stale = response.digest.as_ref().is_some_and(|digest| *digest != request.digest);
            return if stale { Err(ResponseError::Stale) } else { Ok(vec![request.clone()]) };
        }
        if let Some(resolution) = self.resolved.get(&response.request) {
            return Err(ResponseError::AlreadyResolved(resolution.clone()));
        }
        // The arguments of one call are none of another's.
        let group = &response.request;
        let requests = self.pending.values().filter(|request| request.id.group() == *group);
        let requests: Vec<HumanRequest> = match response.answer {
            HumanResponse::Modify { .. } => Vec::new(),
            HumanResponse::Confirm
            | HumanResponse::Skip
            | HumanResponse::Stop
            | HumanResponse::Say { .. } => requests.cloned().collect(),
        };
        let stale = |request: &HumanRequest| {
            response.digest.as_ref().is_some_and(|digest| *digest != request.digest)
        };
        if requests.iter().any(stale) {
            return Err(ResponseError::Stale);
        }
        if !requests.is_empty() {
            return Ok(requests);
        }
        let resolution = self.resolved.iter().find(|(id, _)| id.group() == *group);
        Err(resolution.map_or(ResponseError::UnknownRequest, |(_, resolution)| {
            ResponseError::AlreadyResolved(resolution.clone())
        }))
    }
}
