//! Human requests of children, and the responses for the children.

use std::collections::{BTreeMap, BTreeSet};

use crate::effect::Delivery;
use crate::human::ResponseRecord;
use crate::id::{ChildId, HumanRequestId};
use crate::input::ChildRequest;

/// Requests and responses between a run and its children.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChildRequests {
    waits: BTreeMap<ChildId, ChildWait>,
    /// Responses for children that have not been delivered.
    undelivered_responses: BTreeMap<HumanRequestId, (ChildId, ResponseRecord)>,
    /// In a child: the versions of its requests that its run has not received.
    unsent_versions: BTreeSet<u32>,
    version: u32,
}

/// A run's knowledge of a child with requests.
#[derive(Debug, Clone, Default, PartialEq)]
struct ChildWait {
    /// The newest version of the child's requests.
    version: u32,
    /// The number of responses that were sent or are due.
    responses_sent: u32,
    /// The number of responses after which the child can do no other work.
    paused_after: Option<u32>,
}

impl ChildRequests {
    /// Returns the deliveries owed to children, or by this child.
    pub(super) fn due(&self) -> impl Iterator<Item = Delivery> {
        let responses = self.undelivered_responses.keys().cloned().map(Delivery::HumanResponse);
        responses.chain(self.unsent_versions.iter().copied().map(Delivery::ChildRequest))
    }

    /// Returns true if a child has no work before its next response, or before a response has arrived.
    pub(super) fn is_waiting(&self, child: &ChildId) -> bool {
        let is_paused = |wait: &ChildWait| wait.paused_after == Some(wait.responses_sent);
        self.waits.get(child).is_some_and(is_paused)
            || self.undelivered_responses.values().any(|(asker, _)| asker == child)
    }

    /// Returns the version of this child's requests.
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// Increments the version of this child's requests.
    pub(super) fn bump_version(&mut self) {
        self.version += 1;
        self.unsent_versions.insert(self.version);
    }

    /// Processes a child's requests. Returns true if their version is new.
    pub(super) fn update(&mut self, request: &ChildRequest) -> bool {
        let wait = self.waits.entry(request.child.clone()).or_default();
        if request.version <= wait.version {
            return false;
        }
        wait.version = request.version;
        wait.paused_after = request.paused.then_some(request.response_count);
        true
    }

    /// Returns a response that is owed to a child.
    pub(super) fn response(&self, request: &HumanRequestId) -> Option<(&ChildId, &ResponseRecord)> {
        self.undelivered_responses.get(request).map(|(child, response)| (child, response))
    }

    /// Adds a response for a child as a due delivery.
    pub(super) fn queue_response(
        &mut self,
        child: &ChildId,
        request: HumanRequestId,
        response: ResponseRecord,
    ) {
        self.waits.entry(child.clone()).or_default().responses_sent += 1;
        self.undelivered_responses.insert(request, (child.clone(), response));
    }

    /// Removes a delivery. Returns true if the delivery was due.
    pub(super) fn mark_delivered(&mut self, delivery: &Delivery) -> bool {
        match delivery {
            Delivery::ChildRequest(version) => self.unsent_versions.remove(version),
            Delivery::HumanResponse(request) => {
                self.undelivered_responses.remove(request).is_some()
            }
            _ => false,
        }
    }

    /// Removes all deliveries for a child that has ended.
    pub(super) fn forget(&mut self, child: &ChildId) {
        self.waits.remove(child);
        self.undelivered_responses.retain(|_, (asker, _)| asker != child);
    }

    /// Withdraws all responses and requests.
    pub(super) fn close(&mut self) {
        self.undelivered_responses.clear();
        self.unsent_versions.clear();
    }
}
