//! How a run comes to its end.

use std::collections::BTreeSet;

use super::plan_solve::AbandonedWork;
use super::{FinalState, Phase, Run, SummaryCall};
use crate::budget::Usage;
use crate::effect::Delivery;
use crate::entry::{Event, RunResult};
use crate::error_code::{ErrorCode, Failure};
use crate::file::ProductFile;
use crate::id::MessageId;
use crate::input::{FinishReason, PartialMessage};
use crate::settings::SummaryPolicy;
use crate::status::RunStatus;

impl Run {
    /// The agent has nothing left to do: its last reply is the answer, or a closing call writes it. A task
    /// has no such call.
    pub(super) fn conclude_work(&mut self, events: &mut Vec<(String, Event)>, at_ms: i64) {
        if self.is_child() {
            return self.finish_with_answer(events, at_ms);
        }
        let is_first = self.conversation.items.len() == 1;
        let sums_up = match self.spec.settings.summary_policy {
            Some(SummaryPolicy::WhenNeeded) => false,
            Some(SummaryPolicy::Always) | None => !is_first,
        };
        if sums_up || self.conversation.standalone_answer().is_none() {
            self.freeze_taint();
            self.phase = Phase::Summarizing(SummaryCall::with_failure(None));
        } else {
            self.finish_with_answer(events, at_ms);
        }
    }

    /// Ends with the agent's last words as the answer, whose entry is among `events`. Where it said
    /// nothing, there is none.
    pub(super) fn finish_with_answer(&mut self, events: &mut Vec<(String, Event)>, at_ms: i64) {
        let answer = self.conversation.final_text();
        if answer.is_empty() {
            events.extend(self.fail_run(ErrorCode::EmptyAnswer.into(), at_ms));
            return;
        }
        let is_marked = self.spec.settings.summary_policy.is_some();
        for (_, event) in events.iter_mut() {
            if let Event::MessageCompleted { answer, .. } = event {
                *answer = is_marked;
            }
        }
        let files = self.files_named_in(&answer);
        events.extend(self.end_run(RunStatus::Finished, answer, files, None, at_ms));
    }

    /// The work is broken off: a run sums up what there is, a task leaves that to its run.
    pub(super) fn break_off(&mut self, failure: Failure, at_ms: i64) -> Vec<(String, Event)> {
        if self.is_child() {
            return self.fail_run(failure, at_ms);
        }
        let events = self.abandon_work();
        self.compaction.close();
        self.phase = Phase::Summarizing(SummaryCall::with_failure(Some(failure)));
        events
    }

    /// The work ends here: what of it is done is kept, and how the rest ends.
    fn abandon_work(&mut self) -> Vec<(String, Event)> {
        self.freeze_taint();
        self.compaction.close();
        self.employees.close();
        self.human_requests.close();
        match &mut self.phase {
            Phase::Reacting(agent) => agent.abandon_open_calls(),
            Phase::PlanSolving(solving) => {
                let AbandonedWork { events, items, running: at_work } = solving.abandon_tasks();
                self.conversation.items.extend(items);
                self.children_to_stop.extend(at_work);
                events
            }
            Phase::Summarizing(_) | Phase::Ended(_) => Vec::new(),
        }
    }

    pub(super) fn on_model_failed(
        &mut self,
        message: &MessageId,
        failure: &Failure,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        if message.is_employees() {
            return self.employees.close().then(Vec::new);
        }
        self.attempts_at(message)?;
        if self.fail_compaction(message) {
            return Some(Vec::new());
        }
        let final_words = self.conversation.final_text();
        let last_words = self.conversation.last_text().to_owned();
        let files = self.produced_files.deliverable_files();
        // Nothing stands in for an answer that may not be given.
        if failure.code.is_about_content() {
            let failure = Some(failure.clone());
            return Some(self.end_run(RunStatus::Failed, String::new(), files, failure, at_ms));
        }
        Some(match &self.phase {
            // The work is done and the agent said what came of it: that is the answer then.
            Phase::Summarizing(SummaryCall { failure: None, .. }) if !final_words.is_empty() => {
                self.end_run(RunStatus::Finished, final_words, files, None, at_ms)
            }
            Phase::Summarizing(SummaryCall { failure: Some(because), .. }) => {
                let because = because.clone();
                self.end_run(RunStatus::Failed, last_words, files, Some(because), at_ms)
            }
            Phase::Summarizing(_)
            | Phase::Reacting(_)
            | Phase::PlanSolving(_)
            | Phase::Ended(_) => self.fail_run(failure.clone(), at_ms),
        })
    }

    pub(super) fn stop_run(
        &mut self,
        partial: Option<&PartialMessage>,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let mut events = Vec::new();
        let partial = partial.filter(|partial| self.attempts_at(&partial.message).is_some());
        if let Some(PartialMessage { message, text }) = partial {
            let (message, text) = (message.clone(), text.clone());
            let completed = Event::MessageCompleted {
                message: message.clone(),
                text,
                reasoning: None,
                truncated: true,
                finish: FinishReason::Done,
                answer: false,
                usage: Usage::default(),
            };
            events.push((message.to_string(), completed));
            self.last_finish = FinishReason::Done;
        }
        let answer = self.conversation.last_text().to_owned();
        let files = self.produced_files.deliverable_files();
        let failure = Some(ErrorCode::Stopped.into());
        events.extend(self.end_run(RunStatus::Stopped, answer, files, failure, at_ms));
        events
    }

    pub(super) fn fail_run(&mut self, failure: Failure, at_ms: i64) -> Vec<(String, Event)> {
        let answer = self.conversation.last_text().to_owned();
        let files = self.produced_files.deliverable_files();
        self.end_run(RunStatus::Failed, answer, files, Some(failure), at_ms)
    }

    pub(super) fn end_run(
        &mut self,
        status: RunStatus,
        answer: String,
        files: Vec<ProductFile>,
        failure: Option<Failure>,
        at_ms: i64,
    ) -> Vec<(String, Event)> {
        let paused_ms = self.paused_ms(at_ms);
        let mut events = self.abandon_work();
        let took_ms = u64::try_from(at_ms.saturating_sub(self.started_at_ms)).unwrap_or_default();
        let (delivery, outcome) = match &self.spec.child {
            None => {
                let finish = if answer.is_empty() { FinishReason::Done } else { self.last_finish };
                let spent = self.spending;
                let ending =
                    RunResult { status, answer, files, failure, finish, spent, took_ms, paused_ms };
                events.push(("end".to_owned(), Event::RunEnded(ending)));
                (Delivery::AlarmRemoval, None)
            }
            // Viewers see the end of a task in its run.
            Some(task) => {
                let outcome = self.build_child_result(task, status, answer, failure);
                (Delivery::ChildResult, Some(Box::new(outcome)))
            }
        };
        let undelivered = BTreeSet::from([delivery]);
        self.phase = Phase::Ended(FinalState { status, undelivered, child_result: outcome });
        events
    }
}
