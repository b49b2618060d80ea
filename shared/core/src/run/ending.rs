//! How a run comes to its end.

use std::collections::BTreeSet;

use super::plan_solve::Abandoned;
use super::{Ended, Phase, Run, Summarizing};
use crate::budget::Usage;
use crate::code::{ErrorCode, Failure};
use crate::effect::Delivery;
use crate::entry::{Ending, Event};
use crate::file::ProductFile;
use crate::id::MessageId;
use crate::input::{Finish, Partial};
use crate::settings::SummaryPolicy;
use crate::status::RunStatus;

impl Run {
    /// The agent has nothing left to do: its last reply is the answer, or a closing call writes it. A task
    /// has no such call.
    pub(super) fn conclude(&mut self, events: &mut Vec<(String, Event)>, at_ms: i64) {
        if self.is_task() {
            return self.answer(events, at_ms);
        }
        let is_first = self.conversation.items.len() == 1;
        let sums_up = match self.asked.settings.summary {
            Some(SummaryPolicy::WhenNeeded) => false,
            Some(SummaryPolicy::Always) | None => !is_first,
        };
        if sums_up || self.conversation.answer().is_none() {
            self.keep_taint();
            self.phase = Phase::Summarizing(Summarizing::after(None));
        } else {
            self.answer(events, at_ms);
        }
    }

    /// Ends with the agent's last words as the answer, whose entry is among `events`. Where it said
    /// nothing, there is none.
    pub(super) fn answer(&mut self, events: &mut Vec<(String, Event)>, at_ms: i64) {
        let answer = self.conversation.final_words();
        if answer.is_empty() {
            events.extend(self.fail(ErrorCode::EmptyAnswer.into(), at_ms));
            return;
        }
        let is_marked = self.asked.settings.summary.is_some();
        for (_, event) in events.iter_mut() {
            if let Event::MessageCompleted { answer, .. } = event {
                *answer = is_marked;
            }
        }
        let files = self.files_named_in(&answer);
        events.extend(self.end(RunStatus::Finished, answer, files, None, at_ms));
    }

    /// The work is broken off: a run sums up what there is, a task leaves that to its run.
    pub(super) fn break_off(&mut self, failure: Failure, at_ms: i64) -> Vec<(String, Event)> {
        if self.is_task() {
            return self.fail(failure, at_ms);
        }
        let events = self.abandon();
        self.compacting.close();
        self.phase = Phase::Summarizing(Summarizing::after(Some(failure)));
        events
    }

    /// The work ends here: what of it is done is kept, and how the rest ends.
    fn abandon(&mut self) -> Vec<(String, Event)> {
        self.keep_taint();
        self.compacting.close();
        self.employees.close();
        self.asking.close();
        match &mut self.phase {
            Phase::Reacting(agent) => agent.abandon(),
            Phase::PlanSolving(solving) => {
                let Abandoned { events, items, at_work } = solving.abandon();
                self.conversation.items.extend(items);
                self.to_stop.extend(at_work);
                events
            }
            Phase::Summarizing(_) | Phase::Ended(_) => Vec::new(),
        }
    }

    pub(super) fn model_failed(
        &mut self,
        message: &MessageId,
        failure: &Failure,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        if message.is_employees() {
            return self.employees.close().then(Vec::new);
        }
        self.attempts_at(message)?;
        if self.compacting_failed(message) {
            return Some(Vec::new());
        }
        let final_words = self.conversation.final_words();
        let last_words = self.conversation.last_words().to_owned();
        let files = self.produced.deliverable();
        // Nothing stands in for an answer that may not be given.
        if failure.code.is_about_content() {
            let failure = Some(failure.clone());
            return Some(self.end(RunStatus::Failed, String::new(), files, failure, at_ms));
        }
        Some(match &self.phase {
            // The work is done and the agent said what came of it: that is the answer then.
            Phase::Summarizing(Summarizing { because: None, .. }) if !final_words.is_empty() => {
                self.end(RunStatus::Finished, final_words, files, None, at_ms)
            }
            Phase::Summarizing(Summarizing { because: Some(because), .. }) => {
                let because = because.clone();
                self.end(RunStatus::Failed, last_words, files, Some(because), at_ms)
            }
            Phase::Summarizing(_)
            | Phase::Reacting(_)
            | Phase::PlanSolving(_)
            | Phase::Ended(_) => self.fail(failure.clone(), at_ms),
        })
    }

    pub(super) fn stopped(
        &mut self,
        partial: Option<&Partial>,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let mut events = Vec::new();
        let partial = partial.filter(|partial| self.attempts_at(&partial.message).is_some());
        if let Some(Partial { message, text }) = partial {
            let (message, text) = (message.clone(), text.clone());
            let completed = Event::MessageCompleted {
                message: message.clone(),
                text,
                reasoning: None,
                cut: true,
                finish: Finish::Done,
                answer: false,
                usage: Usage::default(),
            };
            events.push((message.to_string(), completed));
            self.finish = Finish::Done;
        }
        let answer = self.conversation.last_words().to_owned();
        let files = self.produced.deliverable();
        let failure = Some(ErrorCode::Stopped.into());
        events.extend(self.end(RunStatus::Stopped, answer, files, failure, at_ms));
        events
    }

    pub(super) fn fail(&mut self, failure: Failure, at_ms: i64) -> Vec<(String, Event)> {
        let answer = self.conversation.last_words().to_owned();
        let files = self.produced.deliverable();
        self.end(RunStatus::Failed, answer, files, Some(failure), at_ms)
    }

    pub(super) fn end(
        &mut self,
        status: RunStatus,
        answer: String,
        files: Vec<ProductFile>,
        failure: Option<Failure>,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let paused_ms = self.paused_ms(at_ms);
        let mut events = self.abandon();
        let took_ms = u64::try_from(at_ms.saturating_sub(self.started_at_ms)).unwrap_or_default();
        let (delivery, outcome) = match &self.asked.task {
            None => {
                let finish = if answer.is_empty() { Finish::Done } else { self.finish };
                let spent = self.spent;
                let ending =
                    Ending { status, answer, files, failure, finish, spent, took_ms, paused_ms };
                events.push(("end".to_owned(), Event::RunEnded(ending)));
                (Delivery::AlarmRemoval, None)
            }
            // Viewers see the end of a task in its run.
            Some(task) => {
                let outcome = self.outcome(task, status, answer, failure);
                (Delivery::Outcome, Some(Box::new(outcome)))
            }
        };
        let undelivered = BTreeSet::from([delivery]);
        self.phase = Phase::Ended(Ended { status, undelivered, outcome });
        events
    }
}
