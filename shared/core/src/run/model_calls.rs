//! Model calls: their replies, attempts that failed and drivers that died.

use super::{Phase, Run};
use crate::agent_loop::{Attempts, TurnUpdate};
use crate::budget::Usage;
use crate::crash::ActiveEffects;
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::id::MessageId;
use crate::input::{ModelChanged, ModelReplied};

impl Run {
    /// The attempts at the model call that is owed, if it writes this message.
    pub(super) fn attempts_at(&mut self, message: &MessageId) -> Option<&mut Attempts> {
        if let Some(attempts) = self.compaction.attempts_at(message) {
            return attempts;
        }
        match &mut self.phase {
            Phase::Reacting(agent) => agent.attempts_at(message),
            Phase::PlanSolving(solving) => solving.active_planner()?.attempts_at(message),
            Phase::Summarizing(summarizing) if message.is_summary() => {
                Some(&mut summarizing.attempts)
            }
            Phase::Summarizing(_) | Phase::Ended(_) => None,
        }
    }

    /// The driver died: it counts against what it `ran`.
    pub(super) fn on_resumed(
        &mut self,
        epoch: u64,
        ran: &ActiveEffects,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let mut events = vec![(format!("resumed.{epoch}"), Event::RunResumed { epoch })];
        self.employees.on_resumed(ran);
        // One that waits for a person took nobody down.
        if self.human_requests.holds_model_calls() || self.compaction.on_resumed(ran) {
            return events;
        }
        let observed = match &mut self.phase {
            Phase::Reacting(agent) => agent.on_resumed(ran),
            Phase::PlanSolving(solving) => solving.on_resumed(ran),
            Phase::Summarizing(summarizing) => {
                let gave_up =
                    ran.has_message(&MessageId::summary()) && !summarizing.attempts.record_crash();
                (!gave_up).then(TurnUpdate::default)
            }
            Phase::Ended(_) => None,
        };
        events.extend(match observed {
            Some(observed) => self.apply_turn_update(observed, at_ms),
            None => self.fail_run(ErrorCode::Crashed.into(), at_ms),
        });
        events
    }

    /// Attempts failed, so many, the last perhaps while its process stood still; its text is taken back if it
    /// sent any.
    pub(super) fn on_attempt_failed(
        &mut self,
        message: &MessageId,
        attempt: u32,
        failed: (u32, bool),
        usage: &Usage,
        reset: Option<&Failure>,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        if message.is_employees() {
            self.employees.on_attempt_failed(attempt, failed).then_some(())?;
            self.spending.add_model_call(usage);
            return Some(Vec::new());
        }
        let attempts =
            self.attempts_at(message).filter(|attempts| attempts.next_number() == attempt)?;
        attempts.record_failures(failed.0, failed.1);
        let id = format!("{message}.reset{}", attempts.failures);
        let mut events = Vec::new();
        if let Some(failure) = reset {
            let (message, failure) = (message.clone(), failure.clone());
            events.push((id, Event::MessageReset { message, attempt, failure }));
        }
        if reset.is_some() || usage.is_billed() {
            self.spending.add_model_call(usage);
        }
        // Another attempt would be another call. The summary's are allowed whatever is left.
        if !matches!(self.phase, Phase::Summarizing(_))
            && let Some(failure) = self.budget_failure()
        {
            events.extend(self.budget_exhausted(failure, at_ms));
        }
        Some(events)
    }

    /// The fallback makes a call from here on. `None` if nobody waits for the call, or the fallback has
    /// it already.
    pub(super) fn on_model_changed(
        &mut self,
        changed: &ModelChanged,
    ) -> Option<Vec<(String, Event)>> {
        let ModelChanged { message, to, failure, .. } = changed;
        if message.is_employees() {
            self.employees.attempts()?.switch_to_fallback(to, failure)?;
            return Some(Vec::new());
        }
        if self.human_requests.holds_message(message) {
            return None;
        }
        let changes = self.attempts_at(message)?.switch_to_fallback(to, failure)?;
        let id = format!("{message}.model{changes}");
        Some(vec![(id, Event::ModelChanged(changed.clone()))])
    }

    pub(super) fn on_model_replied(
        &mut self,
        replied: &ModelReplied,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        if replied.message.is_employees() {
            return self.on_employees_named(replied);
        }
        if self.human_requests.holds_message(&replied.message) {
            return None;
        }
        let choice = self.attempts_at(&replied.message)?.model_choice();
        self.spending.add_model_call(&replied.reply.usage);
        if self.compaction_range().is_some() {
            return Some(self.finish_compaction(replied, at_ms));
        }
        self.compaction.record_window(replied.window, choice);
        if !replied.reply.text.trim().is_empty() {
            self.last_finish = replied.reply.finish;
        }
        let most = self.max_calls_of_next_reply();
        match &mut self.phase {
            Phase::Reacting(agent) => {
                self.spending.steps += 1;
                let observed = agent.on_model_replied(replied, &self.spec.settings, most, |_| None);
                Some(self.apply_turn_update(observed, at_ms))
            }
            Phase::PlanSolving(solving) => {
                self.spending.steps += 1;
                let (observed, then) = solving.on_model_replied(replied, &self.spec.settings);
                if let Some(plan) = solving.plan() {
                    self.plan_file.set_plan(plan);
                }
                Some(self.settle(observed, then, at_ms))
            }
            Phase::Summarizing(summarizing) => {
                let because = summarizing.failure.clone();
                Some(self.on_summary_replied(replied, because, at_ms))
            }
            Phase::Ended(_) => None,
        }
    }
}
