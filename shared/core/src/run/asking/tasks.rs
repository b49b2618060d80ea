//! A run and its tasks: what tasks ask, and what they are answered.

use super::Asking;
use crate::effect::Delivery;
use crate::entry::Event;
use crate::feedback::{Answered, Ask};
use crate::id::{FeedbackId, TaskId};
use crate::input::TaskAsks;
use crate::run::Run;

/// What a run knows of a task that asks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TaskWaiting {
    /// The newest version of what it asks.
    version: u32,
    /// Answers that it was sent, or is to be.
    sent: u32,
    /// It can do nothing else, once it has had so many answers.
    paused_after: Option<u32>,
}

impl Asking {
    /// What is owed to tasks, or by this one.
    pub(super) fn deliveries(&self) -> impl Iterator<Item = Delivery> {
        let answers = self.undelivered.keys().cloned().map(Delivery::Answer);
        answers.chain(self.untold.iter().copied().map(Delivery::Asks))
    }

    /// Whether a task can do nothing before it is answered, or before its answer has arrived.
    pub(super) fn task_waits(&self, task: &TaskId) -> bool {
        let paused = |waiting: &TaskWaiting| waiting.paused_after == Some(waiting.sent);
        self.tasks.get(task).is_some_and(paused)
            || self.undelivered.values().any(|(asked, _)| asked == task)
    }

    /// What a task asks has changed.
    pub(super) fn changed(&mut self) {
        self.version += 1;
        self.untold.insert(self.version);
    }

    /// An answer is owed to a task.
    pub(super) fn deliver(&mut self, task: &TaskId, id: FeedbackId, answered: Answered) {
        self.tasks.entry(task.clone()).or_default().sent += 1;
        self.undelivered.insert(id, (task.clone(), answered));
    }

    /// Something was delivered. Whether it was owed.
    pub(in crate::run) fn delivered(&mut self, delivery: &Delivery) -> bool {
        match delivery {
            Delivery::Asks(version) => self.untold.remove(version),
            Delivery::Answer(feedback) => self.undelivered.remove(feedback).is_some(),
            Delivery::AlarmRemoval | Delivery::Outcome | Delivery::Stop(_) => false,
        }
    }

    /// A task has ended: nobody answers what it asked.
    pub(in crate::run) fn task_ended(&mut self, task: &TaskId) {
        self.tasks.remove(task);
        self.pending.retain(|_, ask| ask.task.as_ref() != Some(task));
        self.undelivered.retain(|_, (asked, _)| asked != task);
    }
}

impl Run {
    /// What this task asks, as its run is told.
    #[must_use]
    pub fn task_asks(&self) -> Option<TaskAsks> {
        Some(TaskAsks {
            task: self.asked.task.as_ref()?.task.clone(),
            version: self.asking.version,
            asks: self.asks().cloned().collect(),
            reasoning: self.words().to_owned(),
            answers: self.asking.answers,
            paused: self.asking.is_paused(),
        })
    }

    /// An answer that is owed to a task, with the name that it has there.
    #[must_use]
    pub fn answer_for_task(&self, feedback: &FeedbackId) -> Option<(&TaskId, Answered)> {
        let (task, answered) = self.asking.undelivered.get(feedback)?;
        let own = feedback.as_str().strip_prefix(&format!("{task}."))?;
        Some((task, Answered { feedback: FeedbackId::new(own).ok()?, ..answered.clone() }))
    }

    /// A task asks, or waits for what it has asked. `None` if it is not at work, or that is no news.
    pub(in crate::run) fn task_asked(
        &mut self,
        told: &TaskAsks,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let task = &told.task;
        self.running_tasks().contains(task).then_some(())?;
        let waiting = self.asking.tasks.entry(task.clone()).or_default();
        if told.version <= waiting.version {
            return None;
        }
        waiting.version = told.version;
        waiting.paused_after = told.paused.then_some(told.answers);
        let named = told.asks.iter().filter_map(|ask| {
            let id = FeedbackId::new(format!("{task}.{}", ask.id)).ok()?;
            Some(Ask { id, task: Some(task.clone()), ..ask.clone() })
        });
        let known = |id: &FeedbackId| {
            self.asking.pending.contains_key(id) || self.asking.settled.contains_key(id)
        };
        let new: Vec<Ask> = named.filter(|ask| !known(&ask.id)).collect();
        Some(self.ask(new, &told.reasoning, at_ms).into_iter().collect())
    }
}
