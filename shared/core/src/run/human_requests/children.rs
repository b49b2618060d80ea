//! A run and its tasks: what tasks ask, and what they are answered.

use super::HumanRequests;
use crate::effect::Delivery;
use crate::entry::Event;
use crate::human::{HumanRequest, ResponseRecord};
use crate::id::{HumanRequestId, TaskId};
use crate::input::ChildRequest;
use crate::run::Run;

/// What a run knows of a task that asks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChildWait {
    /// The newest version of what it asks.
    version: u32,
    /// Answers that it was sent, or is to be.
    responses_sent: u32,
    /// It can do nothing else, once it has had so many answers.
    paused_after: Option<u32>,
}

impl HumanRequests {
    /// What is owed to tasks, or by this one.
    pub(super) fn due_deliveries(&self) -> impl Iterator<Item = Delivery> {
        let answers = self.undelivered_responses.keys().cloned().map(Delivery::HumanResponse);
        answers.chain(self.unsent_versions.iter().copied().map(Delivery::ChildRequest))
    }

    /// Whether a task can do nothing before it is answered, or before its answer has arrived.
    pub(super) fn is_child_waiting(&self, task: &TaskId) -> bool {
        let paused = |waiting: &ChildWait| waiting.paused_after == Some(waiting.responses_sent);
        self.children.get(task).is_some_and(paused)
            || self.undelivered_responses.values().any(|(asked, _)| asked == task)
    }

    /// What a task asks has changed.
    pub(super) fn bump_version(&mut self) {
        self.version += 1;
        self.unsent_versions.insert(self.version);
    }

    /// An answer is owed to a task.
    pub(super) fn queue_response(
        &mut self,
        task: &TaskId,
        id: HumanRequestId,
        answered: ResponseRecord,
    ) {
        self.children.entry(task.clone()).or_default().responses_sent += 1;
        self.undelivered_responses.insert(id, (task.clone(), answered));
    }

    /// Something was delivered. Whether it was owed.
    pub(in crate::run) fn mark_delivered(&mut self, delivery: &Delivery) -> bool {
        match delivery {
            Delivery::ChildRequest(version) => self.unsent_versions.remove(version),
            Delivery::HumanResponse(feedback) => {
                self.undelivered_responses.remove(feedback).is_some()
            }
            Delivery::AlarmRemoval | Delivery::ChildResult | Delivery::StopChild(_) => false,
        }
    }

    /// A task has ended: nobody answers what it asked.
    pub(in crate::run) fn forget_child(&mut self, task: &TaskId) {
        self.children.remove(task);
        self.pending.retain(|_, ask| ask.task.as_ref() != Some(task));
        self.undelivered_responses.retain(|_, (asked, _)| asked != task);
    }
}

impl Run {
    /// What this task asks, as its run is told.
    #[must_use]
    pub fn child_request(&self) -> Option<ChildRequest> {
        Some(ChildRequest {
            task: self.spec.child.as_ref()?.task.clone(),
            version: self.human_requests.version,
            requests: self.pending_requests().cloned().collect(),
            reasoning: self.request_reasoning().to_owned(),
            response_count: self.human_requests.response_count,
            paused: self.human_requests.is_paused(),
        })
    }

    /// An answer that is owed to a task, with the name that it has there.
    #[must_use]
    pub fn response_for_child(
        &self,
        feedback: &HumanRequestId,
    ) -> Option<(&TaskId, ResponseRecord)> {
        let (task, answered) = self.human_requests.undelivered_responses.get(feedback)?;
        let own = feedback.as_str().strip_prefix(&format!("{task}."))?;
        Some((task, ResponseRecord { request: HumanRequestId::new(own).ok()?, ..answered.clone() }))
    }

    /// A task asks, or waits for what it has asked. `None` if it is not at work, or that is no news.
    pub(in crate::run) fn on_child_requested(
        &mut self,
        told: &ChildRequest,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let task = &told.task;
        self.running_tasks().contains(task).then_some(())?;
        let waiting = self.human_requests.children.entry(task.clone()).or_default();
        if told.version <= waiting.version {
            return None;
        }
        waiting.version = told.version;
        waiting.paused_after = told.paused.then_some(told.response_count);
        let named = told.requests.iter().filter_map(|ask| {
            let id = HumanRequestId::new(format!("{task}.{}", ask.id)).ok()?;
            Some(HumanRequest { id, task: Some(task.clone()), ..ask.clone() })
        });
        let known = |id: &HumanRequestId| {
            self.human_requests.pending.contains_key(id)
                || self.human_requests.resolved.contains_key(id)
        };
        let new: Vec<HumanRequest> = named.filter(|ask| !known(&ask.id)).collect();
        Some(self.request_humans(new, &told.reasoning, at_ms).into_iter().collect())
    }
}
