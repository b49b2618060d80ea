//! Human requests: work that waits for responses, and the pause of the run.
//!
//! A run also sends the requests of its children: a child sends its requests to its run, and the run returns
//! the responses. So one journal holds all decisions of users, and decides between a response, a second
//! response and a timeout.

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
    HumanRequest, HumanResponse, HumanSettings, Interrupt, Resolution, ResponseError,
    ResponseRecord, TimeoutAction,
};
use crate::id::{ChildId, EntryId, EntryName, HumanRequestId, MessageId, Path};
use crate::input::ChildRequest;

/// The open and resolved human requests of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HumanRequests {
    /// True for a child, whose run sends its requests to users.
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
    /// Creates the state of a child or of a user's run without requests.
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

    /// Withdraws all open requests.
    pub(super) fn close(&mut self) {
        self.pending.clear();
        self.children.close();
        self.interrupts.release();
    }

    /// Returns the open human requests.
    pub(super) fn pending(&self) -> impl Iterator<Item = &HumanRequest> {
        self.pending.values()
    }

    /// Returns the response to a request.
    pub(super) fn resolution(&self, request: &HumanRequestId) -> Option<&Resolution> {
        self.resolved.get(request)
    }

    /// Returns true if this response resolved a request.
    pub(super) fn is_resolved_by(&self, answer_id: &str) -> bool {
        self.resolved.values().any(|resolution| resolution.id == answer_id)
    }

    /// Returns true if the run has ever sent a human request.
    pub(super) fn has_ever_requested(&self) -> bool {
        self.has_ever_requested
    }

    /// Returns the pause in which the run only waits for users.
    pub(super) fn pause(&self) -> &Pause {
        &self.pause
    }

    /// Records whether only users' responses are due. A child reports a new pause to its run.
    pub(super) fn update_pause(&mut self, is_awaiting: bool, at_ms: i64) {
        if self.pause.update(is_awaiting, at_ms) && self.is_child {
            self.children.bump_version();
        }
    }

    /// Returns true if the call for this message waits for a user.
    pub(super) fn holds_message(&self, message: &MessageId) -> bool {
        self.interrupts.holds(message)
    }

    /// Returns true if a model call waits for a user.
    pub(super) fn holds_model_call(&self) -> bool {
        self.interrupts.holds_any()
    }

    /// Returns the due effects of the requests.
    pub(super) fn due(&self) -> Vec<Effect> {
        let waits = self.pending.values().map(|request| {
            let until_ms = request.expires_at_ms;
            let request = request.id.clone();
            Effect::AwaitHuman(AwaitHuman { request, until_ms })
        });
        waits.chain(self.children.due().map(Effect::Deliver)).collect()
    }

    /// Adjusts an effect while requests are open; `None` if the effect is not due.
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

    /// Sends human requests and returns the event for viewers. Viewers see a child's requests in its run.
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
            // A request after an interrupt never expires. The timeout of a child's request runs in its run.
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

    /// Requests approval to repeat the interrupted model call for this message. `None` if a request for the
    /// call is already open.
    pub(super) fn interrupt_model_call(
        &mut self,
        message: &MessageId,
        interrupt: Interrupt,
    ) -> Option<HumanRequest> {
        self.interrupts.hold(message, interrupt)
    }

    /// Lets an interrupted model call continue after a user has acted.
    pub(super) fn release_model_call(&mut self) {
        self.interrupts.release();
    }

    /// Stores the response to a request and returns the event for viewers. A response for a child becomes a
    /// due delivery.
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

    /// Returns the default response after the timeout. `None` if the request has a response or never expires.
    pub(super) fn default_response(
        &self,
        request: &HumanRequestId,
        on_timeout: TimeoutAction,
    ) -> Option<(HumanRequest, ResponseRecord)> {
        let request = self.pending.get(request)?;
        let answer = request.timeout_action(on_timeout)?.to_response();
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

    /// Removes a delivery. Returns true if the delivery was due.
    pub(super) fn mark_delivered(&mut self, delivery: &Delivery) -> bool {
        self.children.mark_delivered(delivery)
    }

    /// Removes the requests of a child that has ended.
    pub(super) fn forget_child(&mut self, child: &ChildId) {
        self.children.forget(child);
        self.pending.retain(|_, request| request.child.as_ref() != Some(child));
    }

    /// Returns a response that is owed to a child.
    pub(super) fn response_for_child(
        &self,
        request: &HumanRequestId,
    ) -> Option<(&ChildId, &ResponseRecord)> {
        self.children.response(request)
    }

    /// Returns this child's requests for the run above.
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

    /// Processes the requests of a child, and returns new requests with ids that are unique in this run.
    /// `None` if the child's version is not new.
    pub(super) fn take_child_request(
        &mut self,
        child_request: &ChildRequest,
    ) -> Option<Vec<HumanRequest>> {
        self.children.update(child_request).then_some(())?;
        let child = &child_request.child;
        let way = Path::to(child.clone());
        let requests = child_request.requests.iter().map(|request| {
            let id = request.id.clone().below(&way);
            HumanRequest { id, child: Some(child.clone()), ..request.clone() }
        });
        let is_new = |request: &HumanRequest| {
            !self.pending.contains_key(&request.id) && !self.resolved.contains_key(&request.id)
        };
        Some(requests.filter(is_new).collect())
    }

    /// Returns the requests that a response would resolve.
    ///
    /// # Errors
    /// Returns [`ResponseError`] if no open request matches, or if the request was resolved before.
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
        // A change of arguments applies to one call only.
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
