//! Model calls: their replies, attempts that failed and drivers that died.

use super::{Phase, Run};
use crate::agent_loop::{Attempts, Observed};
use crate::budget::Usage;
use crate::code::{ErrorCode, Failure};
use crate::crash::Ran;
use crate::entry::Event;
use crate::id::MessageId;
use crate::input::{ModelChanged, ModelReplied};

impl Run {
    /// The attempts at the model call that is owed, if it writes this message.
    pub(super) fn attempts_at(&mut self, message: &MessageId) -> Option<&mut Attempts> {
        if let Some(attempts) = self.compacting.attempts_at(message) {
            return attempts;
        }
        match &mut self.phase {
            Phase::Reacting(agent) => agent.attempts_at(message),
            Phase::PlanSolving(solving) => solving.planner()?.attempts_at(message),
            Phase::Summarizing(summarizing) if message.is_summary() => {
                Some(&mut summarizing.attempts)
            }
            Phase::Summarizing(_) | Phase::Ended(_) => None,
        }
    }

    /// The driver died: it counts against what it `ran`.
    pub(super) fn resumed(&mut self, epoch: u64, ran: &Ran, at_ms: i64) -> Vec<(String, Event)> {
        let mut events = vec![(format!("resumed.{epoch}"), Event::RunResumed { epoch })];
        self.employees.resumed(ran);
        // One that waits for a person took nobody down.
        if self.asking.holds_any() || self.compacting.resumed(ran) {
            return events;
        }
        let observed = match &mut self.phase {
            Phase::Reacting(agent) => agent.resumed(ran),
            Phase::PlanSolving(solving) => solving.resumed(ran),
            Phase::Summarizing(summarizing) => {
                let gave_up =
                    ran.has_message(&MessageId::summary()) && !summarizing.attempts.crash();
                (!gave_up).then(Observed::default)
            }
            Phase::Ended(_) => None,
        };
        events.extend(match observed {
            Some(observed) => self.observe(observed, at_ms),
            None => self.fail(ErrorCode::Crashed.into(), at_ms),
        });
        events
    }

    /// Attempts failed, so many, the last perhaps while its process stood still; its text is taken back if it
    /// sent any.
    pub(super) fn attempt_failed(
        &mut self,
        message: &MessageId,
        attempt: u32,
        failed: (u32, bool),
        usage: &Usage,
        reset: Option<&Failure>,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        if message.is_employees() {
            self.employees.attempt_failed(attempt, failed).then_some(())?;
            self.spent.add_model_call(usage);
            return Some(Vec::new());
        }
        let attempts = self.attempts_at(message).filter(|attempts| attempts.next() == attempt)?;
        attempts.fail(failed.0, failed.1);
        let id = format!("{message}.reset{}", attempts.failed);
        let mut events = Vec::new();
        if let Some(failure) = reset {
            let (message, failure) = (message.clone(), failure.clone());
            events.push((id, Event::ItemReset { message, attempt, failure }));
        }
        if reset.is_some() || usage.is_billed() {
            self.spent.add_model_call(usage);
        }
        // Another attempt would be another call. The summary's are allowed whatever is left.
        if !matches!(self.phase, Phase::Summarizing(_))
            && let Some(failure) = self.used_up()
        {
            events.extend(self.ran_out(failure, at_ms));
        }
        Some(events)
    }

    /// The fallback makes a call from here on. `None` if nobody waits for the call, or the fallback has
    /// it already.
    pub(super) fn model_changed(&mut self, changed: &ModelChanged) -> Option<Vec<(String, Event)>> {
        let ModelChanged { message, to, failure, .. } = changed;
        if message.is_employees() {
            self.employees.attempts()?.fall_back(to, failure)?;
            return Some(Vec::new());
        }
        if self.asking.holds(message) {
            return None;
        }
        let changes = self.attempts_at(message)?.fall_back(to, failure)?;
        let id = format!("{message}.model{changes}");
        Some(vec![(id, Event::ModelChanged(changed.clone()))])
    }

    pub(super) fn replied(
        &mut self,
        replied: &ModelReplied,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        if replied.message.is_employees() {
            return self.employees_named(replied);
        }
        if self.asking.holds(&replied.message) {
            return None;
        }
        let choice = self.attempts_at(&replied.message)?.choice();
        self.spent.add_model_call(&replied.reply.usage);
        if self.compacting().is_some() {
            return Some(self.compacted(replied, at_ms));
        }
        self.compacting.measured(replied.window, choice);
        if !replied.reply.text.trim().is_empty() {
            self.finish = replied.reply.finish;
        }
        let most = self.calls_of_next_reply();
        match &mut self.phase {
            Phase::Reacting(agent) => {
                self.spent.steps += 1;
                let observed = agent.replied(replied, &self.asked.settings, most, |_| None);
                Some(self.observe(observed, at_ms))
            }
            Phase::PlanSolving(solving) => {
                self.spent.steps += 1;
                let (observed, then) = solving.replied(replied, &self.asked.settings);
                if let Some(plan) = solving.plan() {
                    self.plan_file.is_now(plan);
                }
                Some(self.go_on(observed, then, at_ms))
            }
            Phase::Summarizing(summarizing) => {
                let because = summarizing.because.clone();
                Some(self.summarized(replied, because, at_ms))
            }
            Phase::Ended(_) => None,
        }
    }
}
