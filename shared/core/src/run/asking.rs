//! What people are asked: what is held back until they answer, and the pause that this is.
//!
//! A run is asked about its tasks' calls too: a task tells its run what it asks, and the run tells the
//! task what was answered. So all that people decide stands in one journal, and one moment decides
//! between an answer, another one and no answer in time.

mod interrupted;
mod pause;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};

use tasks::TaskWaiting;

use super::top_up::ToppedUp;
use super::{Phase, Run};
use crate::agent_loop::AgentLoop;
use crate::code::{ErrorCode, Failure};
use crate::effect::{AskHuman, Effect};
use crate::entry::Event;
use crate::feedback::{
    About, Answer, Answered, Answering, Ask, Estimate, Refusal, Settled, Why, group_of,
};
use crate::id::{FeedbackId, MessageId, TaskId};

/// What is asked, and what was.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Asking {
    pending: BTreeMap<FeedbackId, Ask>,
    settled: BTreeMap<FeedbackId, Settled>,
    /// The message whose model call was interrupted and is not to be made again yet.
    held: Option<MessageId>,
    /// How often the model call of a message was interrupted.
    rounds: BTreeMap<MessageId, u32>,
    tasks: BTreeMap<TaskId, TaskWaiting>,
    /// Answers for tasks that have not been delivered.
    undelivered: BTreeMap<FeedbackId, (TaskId, Answered)>,
    /// In a task: the versions of what it asks that its run has not been told of.
    untold: BTreeSet<u32>,
    version: u32,
    answers: u32,
    paused_since_ms: Option<i64>,
    paused_ms: i64,
    has_asked: bool,
    pub(super) topped_up: ToppedUp,
}

impl Asking {
    /// Nobody waits for an answer any more.
    pub(super) fn close(&mut self) {
        self.pending.clear();
        self.undelivered.clear();
        self.untold.clear();
        self.held = None;
        self.topped_up.close();
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
    pub(super) fn holds(&self, message: &MessageId) -> bool {
        self.held.as_ref() == Some(message)
    }

    /// Whether the model call that is next waits for a person.
    pub(super) fn holds_any(&self) -> bool {
        self.held.is_some() || self.topped_up.holds()
    }

    /// What is owed because of it.
    pub(super) fn due(&self) -> Vec<Effect> {
        let asks = self.pending.values().map(|ask| {
            let (feedback, until_ms) = (ask.id.clone(), ask.expires_at_ms);
            Effect::AskHuman(AskHuman { feedback, until_ms })
        });
        asks.chain(self.deliveries().map(Effect::Deliver)).collect()
    }

    /// The effect as it is owed while people are asked; `None` if it is not.
    pub(super) fn held_back(&self, effect: Effect) -> Option<Effect> {
        Some(match effect {
            Effect::CallModel(call) if self.topped_up.holds() || self.holds(&call.message) => {
                return None;
            }
            Effect::CallModel(mut call) => {
                call.round = self.rounds.get(&call.message).copied().unwrap_or_default();
                Effect::CallModel(call)
            }
            Effect::Dispatch(mut dispatch) => {
                dispatch.waits = self.task_waits(&dispatch.task);
                Effect::Dispatch(dispatch)
            }
            Effect::RunTool(_)
            | Effect::AskHuman(_)
            | Effect::Wait { .. }
            | Effect::KeepPlan { .. }
            | Effect::Deliver(_) => effect,
        })
    }

    /// What an answer is about, or why it changes nothing.
    fn about(&self, answered: &Answered) -> Result<Vec<Ask>, Refusal> {
        if let Some(ask) = self.pending.get(&answered.feedback) {
            let stale = answered.digest.as_ref().is_some_and(|digest| *digest != ask.digest);
            return if stale { Err(Refusal::Stale) } else { Ok(vec![ask.clone()]) };
        }
        if let Some(settled) = self.settled.get(&answered.feedback) {
            return Err(Refusal::Late(settled.clone()));
        }
        // The arguments of one call are none of another's.
        let group = answered.feedback.as_str();
        let asks = self.pending.values().filter(|ask| group_of(&ask.id) == group);
        let asks: Vec<Ask> = match answered.answer {
            Answer::Modify { .. } => Vec::new(),
            Answer::Confirm | Answer::Skip | Answer::Stop | Answer::Say { .. } => {
                asks.cloned().collect()
            }
        };
        let stale =
            |ask: &Ask| answered.digest.as_ref().is_some_and(|digest| *digest != ask.digest);
        if asks.iter().any(stale) {
            return Err(Refusal::Stale);
        }
        if !asks.is_empty() {
            return Ok(asks);
        }
        let settled = self.settled.iter().find(|(id, _)| group_of(id) == group);
        Err(settled.map_or(Refusal::Unknown, |(_, settled)| Refusal::Late(settled.clone())))
    }
}

impl Run {
    /// What people are asked and have not answered.
    pub fn asks(&self) -> impl Iterator<Item = &Ask> {
        self.asking.pending.values()
    }

    /// How something that it asked was answered; `None` while it was not, and if nobody asks it any
    /// more.
    #[must_use]
    pub fn settled(&self, feedback: &FeedbackId) -> Option<&Settled> {
        self.asking.settled.get(feedback)
    }

    /// Whether it has ever asked people.
    #[must_use]
    pub fn has_asked(&self) -> bool {
        self.asking.has_asked
    }

    /// What an answer would change: what it is about, or why it changes nothing.
    ///
    /// # Errors
    /// [`Refusal`] when nothing like it is asked, or was answered before.
    pub fn about(&self, answered: &Answered) -> Result<Vec<Ask>, Refusal> {
        self.asking.about(answered)
    }

    /// Whether this answer decided anything.
    #[must_use]
    pub fn is_settled_by(&self, answer_id: &str) -> bool {
        self.asking.settled.values().any(|settled| settled.id == answer_id)
    }

    /// When the first of what is asked is answered by default, Unix milliseconds.
    #[must_use]
    pub fn next_expiry(&self) -> Option<(&FeedbackId, i64)> {
        let expiring = |ask: &'_ Ask| ask.expires_at_ms.is_some();
        let first = self.asks().filter(|ask| expiring(ask)).min_by_key(|ask| ask.expires_at_ms)?;
        Some((&first.id, first.expires_at_ms?))
    }

    /// Asks people; viewers of a task see it in its run.
    pub(super) fn ask(
        &mut self,
        mut asks: Vec<Ask>,
        reasoning: &str,
        at_ms: i64,
    ) -> Option<(String, Event)> {
        let first = asks.first()?.clone();
        self.asking.has_asked = true;
        let expires_at_ms = self.asked.settings.feedback.expires_at_ms(at_ms);
        for ask in &mut asks {
            // What stopped by itself has no time-out, and that of a task runs in its run.
            let expires = !self.is_task() && ask.about.interrupt().is_none();
            ask.expires_at_ms = expires_at_ms.filter(|_| expires);
            self.asking.pending.insert(ask.id.clone(), ask.clone());
        }
        if self.is_task() {
            self.asking.changed();
            return None;
        }
        let group = group_of(&first.id);
        let event = Event::FeedbackAsked {
            feedback: FeedbackId::new(group).unwrap_or_else(|_| first.id.clone()),
            reasoning: reasoning.to_owned(),
            risk: asks.iter().map(|ask| ask.risk).max().unwrap_or_default(),
            estimate: asks.iter().map(|ask| ask.estimate).reduce(Estimate::and).unwrap_or_default(),
            asks,
        };
        Some((format!("{}.asked", first.id), event))
    }

    /// Takes an answer. `None` if it changes nothing.
    pub(super) fn human_answered(
        &mut self,
        answered: &Answered,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let asks = self.asking.about(answered).ok()?;
        let mut events = Vec::new();
        for ask in asks {
            let (feedback, digest) = (ask.id.clone(), Some(ask.digest.clone()));
            let own = Answered { feedback, digest, ..answered.clone() };
            events.extend(self.settle(&ask, own, at_ms));
            if self.status().has_ended() {
                break;
            }
        }
        Some(events)
    }

    /// Nobody answered in time. `None` if somebody did.
    pub(super) fn feedback_expired(
        &mut self,
        feedback: &FeedbackId,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let ask = self.asking.pending.get(feedback)?.clone();
        ask.expires_at_ms?;
        let on_timeout = self.asked.settings.feedback.on_timeout;
        // What others may have written is never let out unasked, silence buys nothing, and answers no
        // question.
        let unasked = [Why::Untrusted, Why::Budget, Why::Clarification];
        let is_no_consent = on_timeout == Answering::Confirm
            && unasked.iter().any(|unasked| ask.why.contains(unasked));
        let answered = Answered {
            feedback: feedback.clone(),
            id: String::new(),
            by: None,
            answer: if is_no_consent { Answer::Skip } else { on_timeout.answer() },
            comment: String::new(),
            digest: None,
            via: None,
        };
        Some(self.settle(&ask, answered, at_ms))
    }

    fn settle(&mut self, ask: &Ask, answered: Answered, at_ms: i64) -> Vec<(String, Event)> {
        let settled = Settled {
            by: answered.by.clone(),
            answer: answered.answer.as_str().to_owned(),
            id: answered.id.clone(),
        };
        self.asking.pending.remove(&ask.id);
        self.asking.settled.insert(ask.id.clone(), settled);
        self.asking.answers += 1;
        let mut events = Vec::new();
        if !self.is_task() {
            let event = Event::FeedbackAnswered(Box::new(answered.clone()));
            events.push((format!("{}.answered", ask.id), event));
        }
        match (&ask.task, &answered.answer) {
            (_, Answer::Stop) => events.extend(self.stopped(None, at_ms)),
            (Some(task), _) => self.asking.deliver(task, ask.id.clone(), answered),
            (None, _) => events.extend(self.go_on_after(ask, &answered, at_ms)),
        }
        events
    }

    fn go_on_after(&mut self, ask: &Ask, answered: &Answered, at_ms: i64) -> Vec<(String, Event)> {
        let Answered { answer, comment, .. } = answered;
        match &ask.about {
            About::Call { .. } | About::CallInterrupted { .. } => {
                if let Phase::PlanSolving(solving) = &mut self.phase {
                    let answered = solving.answered(ask, answered, &self.asked.settings);
                    if let Some(plan) = solving.plan() {
                        self.plan_file.is_now(plan);
                    }
                    return answered
                        .map(|(observed, then)| self.go_on(observed, then, at_ms))
                        .unwrap_or_default();
                }
                let agent = self.agent();
                let answered = agent.and_then(|agent| agent.answered(&ask.id, answer, comment));
                answered.map(|observed| self.observe(observed, at_ms)).unwrap_or_default()
            }
            About::Step { .. } | About::Result { .. } => {
                let Phase::PlanSolving(solving) = &mut self.phase else { return Vec::new() };
                let answered = solving.step_answered(ask, answer, &self.asked.settings);
                let reworded = match (&ask.about, answer) {
                    (About::Step { .. }, Answer::Modify { arguments }) => {
                        ask.about.new_text(arguments).ok()
                    }
                    _ => None,
                };
                if let Some(plan) = solving.plan().filter(|_| reworded.is_some()) {
                    self.plan_file.is_now(plan);
                }
                self.note_plan_words(&reworded.unwrap_or_default());
                answered
                    .map(|(observed, then)| self.go_on(observed, then, at_ms))
                    .unwrap_or_default()
            }
            About::Budget { .. } => self.topped_up(ask, answer, at_ms),
            About::ModelInterrupted { interrupt, .. } => {
                self.asking.held = None;
                match answer {
                    // Without the model there is nothing to go on with.
                    Answer::Skip | Answer::Stop => {
                        let detail = interrupt.message.clone();
                        self.fail(Failure::new(ErrorCode::Interrupted, detail), at_ms)
                    }
                    Answer::Confirm | Answer::Modify { .. } | Answer::Say { .. } => Vec::new(),
                }
            }
        }
    }

    /// Asks people about the calls of the turn that begins.
    pub(super) fn ask_about_calls(
        &mut self,
        asks: Vec<Ask>,
        at_ms: i64,
    ) -> Option<(String, Event)> {
        let words = self.words().to_owned();
        self.ask(asks, &words, at_ms)
    }

    /// What the model said before it asked for the calls that are open.
    fn words(&self) -> &str {
        match &self.phase {
            Phase::Reacting(agent) => agent.words(),
            Phase::PlanSolving(solving) => solving.words(),
            Phase::Summarizing(_) | Phase::Ended(_) => "",
        }
    }

    /// The loop whose turn it is.
    pub(super) fn agent(&mut self) -> Option<&mut AgentLoop> {
        match &mut self.phase {
            Phase::Reacting(agent) => Some(agent),
            Phase::PlanSolving(solving) => solving.planner(),
            Phase::Summarizing(_) | Phase::Ended(_) => None,
        }
    }
}
