//! A run and its children: what children ask, and what they are answered.

use std::collections::{BTreeMap, BTreeSet};

use crate::effect::Delivery;
use crate::human::ResponseRecord;
use crate::id::{ChildId, HumanRequestId};
use crate::input::ChildRequest;

/// What is between a run and its children while people are asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChildRequests {
    waits: BTreeMap<ChildId, ChildWait>,
    /// Answers for children that have not been delivered.
    undelivered_responses: BTreeMap<HumanRequestId, (ChildId, ResponseRecord)>,
    /// In a child: the versions of what it asks that its run has not been told of.
    unsent_versions: BTreeSet<u32>,
    version: u32,
}

/// What a run knows of a child that asks.
#[derive(Debug, Clone, Default, PartialEq)]
struct ChildWait {
    /// The newest version of what it asks.
    version: u32,
    /// Answers that it was sent, or is to be.
    responses_sent: u32,
    /// It can do nothing else, once it has had so many answers.
    paused_after: Option<u32>,
}

impl ChildRequests {
    /// What is owed to children, or by this one.
    pub(super) fn due(&self) -> impl Iterator<Item = Delivery> {
        let responses = self.undelivered_responses.keys().cloned().map(Delivery::HumanResponse);
        responses.chain(self.unsent_versions.iter().copied().map(Delivery::ChildRequest))
    }

    /// Whether a child can do nothing before it is answered, or before its answer has arrived.
    pub(super) fn is_waiting(&self, child: &ChildId) -> bool {
        let is_paused = |wait: &ChildWait| wait.paused_after == Some(wait.responses_sent);
        self.waits.get(child).is_some_and(is_paused)
            || self.undelivered_responses.values().any(|(asker, _)| asker == child)
    }

    /// The version of what this child asks.
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// What this child asks has changed.
    pub(super) fn bump_version(&mut self) {
        self.version += 1;
        self.unsent_versions.insert(self.version);
    }

    /// Takes what a child says of itself. Whether that is newer than what is known.
    pub(super) fn update(&mut self, told: &ChildRequest) -> bool {
        let wait = self.waits.entry(told.child.clone()).or_default();
        if told.version <= wait.version {
            return false;
        }
        wait.version = told.version;
        wait.paused_after = told.paused.then_some(told.response_count);
        true
    }

    /// An answer that is owed to a child.
    pub(super) fn response(&self, request: &HumanRequestId) -> Option<(&ChildId, &ResponseRecord)> {
        self.undelivered_responses.get(request).map(|(child, response)| (child, response))
    }

    /// An answer is owed to a child from here on.
    pub(super) fn queue_response(
        &mut self,
        child: &ChildId,
        request: HumanRequestId,
        response: ResponseRecord,
    ) {
        self.waits.entry(child.clone()).or_default().responses_sent += 1;
        self.undelivered_responses.insert(request, (child.clone(), response));
    }

    /// Something was delivered. Whether it was owed.
    pub(super) fn mark_delivered(&mut self, delivery: &Delivery) -> bool {
        match delivery {
            Delivery::ChildRequest(version) => self.unsent_versions.remove(version),
            Delivery::HumanResponse(request) => {
                self.undelivered_responses.remove(request).is_some()
            }
            Delivery::AlarmRemoval | Delivery::ChildResult | Delivery::StopChild(_) => false,
        }
    }

    /// A child has ended: nothing is owed to it.
    pub(super) fn forget(&mut self, child: &ChildId) {
        self.waits.remove(child);
        self.undelivered_responses.retain(|_, (asker, _)| asker != child);
    }

    /// Nobody waits for an answer any more, and nobody is asked.
    pub(super) fn close(&mut self) {
        self.undelivered_responses.clear();
        self.unsent_versions.clear();
    }
}
