//! The effects of inputs on a run: the part that processes each input, and the entries for viewers.
//!
//! The parts do not know each other. Only this code knows several parts.

mod agent_change;
mod follow_up;
mod people;
mod review;

use super::closing::{Closing, SummaryReply};
use super::taint::UrlOrigins;
use super::work::Work;
use super::{MAX_HOPS, Phase, Run};
use crate::agent_loop::Attempts;
use crate::budget::Usage;
use crate::crash::ActiveEffects;
use crate::effect::{Delivery, Limit};
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::file::ProductFile;
use crate::id::{CallId, EntryId, EntryName, MessageId};
use crate::input::{
    AttemptFailed, ChildEnded, FinishReason, Input, ModelChanged, ModelReplied, PartialMessage,
};
use crate::status::RunStatus;
use crate::tool::{OfferedTool, ToolResult};

/// The processing of one input by a run.
pub(super) struct Transition<'r> {
    run: &'r mut Run,
    at_ms: i64,
    events: Vec<(EntryId, Event)>,
    /// The file that holds the run's answer.
    answer_file: Option<ProductFile>,
}

/// `None` for an input without a due effect, or an input that was processed before.
type Handled = Option<()>;

impl<'r> Transition<'r> {
    /// Creates a transition at a time, Unix milliseconds.
    pub(super) fn at(at_ms: i64, run: &'r mut Run) -> Self {
        Self { run, at_ms, events: Vec::new(), answer_file: None }
    }

    /// Applies an input and returns the events for viewers in order. `None` if no effect is due for the
    /// input: then the run is unchanged except for URLs.
    pub(super) fn apply(mut self, input: &Input) -> Option<Vec<(EntryId, Event)>> {
        self.take_input(input)?;
        let is_awaiting = self.run.is_awaiting_humans();
        self.run.human_requests.update_pause(is_awaiting, self.at_ms);
        Some(self.events)
    }

    fn take_input(&mut self, input: &Input) -> Handled {
        if let Some(outcome) = self.run.concerns.take_input(input) {
            outcome.usage.iter().for_each(|usage| self.run.ledger.charge_call(usage));
            self.events.extend(outcome.event);
            if outcome.is_awaited && matches!(input, Input::PlanSaved { .. }) {
                let progress = self.run.phase.work_mut().and_then(Work::on_plan_saved);
                progress.into_iter().for_each(|progress| self.settle(progress));
            }
            return outcome.is_awaited.then_some(());
        }
        if let Input::Delivered { delivery } = input
            && self.mark_delivered(delivery)
        {
            return Some(());
        }
        match &mut self.run.phase {
            Phase::Ended(ended) => ended.take_input(input).then_some(()),
            Phase::Working(_) | Phase::Closing(_) => self.take_input_at_work(input),
        }
    }

    fn mark_delivered(&mut self, delivery: &Delivery) -> bool {
        self.run.child_stops.mark_delivered(delivery)
            || self.run.human_requests.mark_delivered(delivery)
    }

    fn take_input_at_work(&mut self, input: &Input) -> Handled {
        match input {
            // A run has one question. Deliveries of an ended run are not due in a run at work.
            Input::Started(_) | Input::Delivered { .. } | Input::PlanSaved { .. } => None,
            Input::Resumed { epoch, lost_usage, isolated } => {
                self.on_resumed(*epoch, lost_usage.as_ref(), *isolated);
                Some(())
            }
            Input::AttemptFailed(failed) => self.on_attempt_failed(failed),
            Input::ModelReplied(replied) => self.on_model_replied(replied),
            Input::ModelChanged(changed) => self.on_model_changed(changed),
            Input::ModelFailed { message, failure } => self.on_model_failed(message, failure),
            Input::ToolStarted { call } => {
                self.run.phase.agent_mut()?.mark_started(call).then_some(())
            }
            Input::ToolStalled { call, attempt } => {
                let update = self.run.phase.agent_mut()?.on_tool_stalled(call, *attempt)?;
                self.settle(update.into());
                Some(())
            }
            Input::ToolReturned { call, result, .. } => self.on_tool_returned(call, result),
            Input::AgentChanged(changed) => self.on_agent_changed(changed),
            Input::FileAdded { id, file } => self.on_file_added(id, file),
            Input::StopRequested { partial, .. } => {
                self.stop(partial.as_ref());
                Some(())
            }
            Input::ChildEnded(ended) => self.on_child_ended(ended),
            Input::LimitReached { limit } => self.on_limit_reached(*limit),
            Input::Interrupted { target, interrupt } => self.on_interrupted(target, interrupt),
            Input::HumanResponded(response) => self.on_human_responded(response),
            Input::HumanRequestExpired { request } => self.on_request_expired(request),
            Input::ChildRequested(request) => self.on_child_requested(request),
            Input::UserMessageAdded(message) => self.on_user_message(message),
            Input::PlanEdited(edit) => self.on_plan_edited(edit),
            Input::AnswerSaved { file } => self.on_answer_saved(file.as_ref()),
        }
    }

    fn push(&mut self, id: EntryId, event: Event) {
        self.events.push((id, event));
    }

    /// Processes a crash, which counts against the effects in progress.
    fn on_resumed(&mut self, epoch: u64, lost_usage: Option<&Usage>, is_isolated: bool) {
        let due = self.run.due();
        if let Some(estimate) = lost_usage {
            self.run.ledger.charge_lost_calls(&due, estimate);
        }
        let ran = if is_isolated { ActiveEffects::of(&due) } else { ActiveEffects::All };
        self.push(EntryId::local(EntryName::Resumed(epoch)), Event::RunResumed { epoch });
        self.run.concerns.on_resumed(&ran);
        // A call that waits for a user did not cause the crash.
        let holds_call =
            self.run.human_requests.holds_model_call() || self.run.ledger.has_open_offer();
        if holds_call || self.run.compaction.on_resumed(&ran) {
            return;
        }
        match self.run.phase.on_resumed(&ran) {
            Some(update) => self.settle(update.into()),
            None => self.fail(ErrorCode::Crashed.into()),
        }
    }

    /// Returns the attempts at the due model call, if the call writes this message.
    fn attempts_at(&mut self, message: &MessageId) -> Option<&mut Attempts> {
        if self.run.compaction.is_open() {
            return self.run.compaction.attempts_at(message);
        }
        self.run.phase.attempts_at(message)
    }

    /// Records failed attempts. Text of the last attempt becomes void.
    fn on_attempt_failed(&mut self, failed: &AttemptFailed) -> Handled {
        let AttemptFailed { message, attempt, failure, usage, silent, .. } = failed;
        let attempts = self.attempts_at(message).filter(|open| open.next_number() == *attempt)?;
        let can_retry = attempts.record_failures(failed);
        let count = attempts.failures;
        let id = EntryId::of_message(message, |name| EntryName::Reset(name, count));
        if !silent {
            let message = message.clone();
            let failure = failure.clone();
            self.push(id, Event::attempt_failed(message, *attempt, failure));
        }
        if !silent || usage.is_billed() {
            self.run.ledger.charge_call(usage);
        }
        self.run.has_delayed |= failed.retry_at_ms.is_some();
        // Viewers do not see the compaction call.
        if let Some(until_ms) = failed.retry_at_ms.filter(|_| !message.is_compaction()) {
            let id = EntryId::of_message(message, |name| EntryName::Delay(name, count));
            let message = message.clone();
            let failure = failure.clone();
            self.push(id, Event::ModelDelayed { message, until_ms, failure });
        }
        if !can_retry {
            return self.on_model_failed(message, &ErrorCode::Crashed.into());
        }
        // Another attempt needs budget, because it is another call. The summary may always repeat its call.
        if self.run.phase.is_working() {
            self.go_on(None);
        }
        Some(())
    }

    /// Lets the fallback take over a call. `None` if the call is not due, or the fallback already has the
    /// call.
    fn on_model_changed(&mut self, changed: &ModelChanged) -> Handled {
        let ModelChanged { message, to, failure, .. } = changed;
        if self.run.human_requests.holds_message(message) {
            return None;
        }
        let changes = self.attempts_at(message)?.switch_to_fallback(to, failure)?;
        let id = EntryId::of_message(message, |name| EntryName::ModelChange(name, changes));
        self.push(id, Event::ModelChanged(changed.clone()));
        Some(())
    }

    fn on_model_replied(&mut self, replied: &ModelReplied) -> Handled {
        if self.run.human_requests.holds_message(&replied.message) {
            return None;
        }
        let choice = self.attempts_at(&replied.message)?.model_choice();
        let run = &mut *self.run;
        if replied.message.is_of_agent_file() {
            let known_urls = url_origins(run, &replied.offered).find_requested(&replied.reply);
            let settings = &run.spec.settings;
            let work = run.phase.work_mut()?;
            let progress = work.on_model_replied(replied, settings, u32::MAX, &known_urls)?;
            self.settle(progress);
            return Some(());
        }
        run.ledger.charge_call(&replied.reply.usage);
        run.learn_limit(replied.window.as_ref());
        if run.compaction.is_open() {
            let event = run.compaction.finish(&replied.reply, &mut run.conversation, &run.urls);
            self.events.extend(event);
            self.go_on(None);
            return Some(());
        }
        run.compaction.record_window(replied.window.as_ref(), choice);
        if !replied.reply.text.trim().is_empty() {
            run.last_finish = replied.reply.finish;
        }
        if let Some(summary) = run.phase.summary().cloned() {
            self.on_summary_replied(replied, summary.failure);
            return Some(());
        }
        run.ledger.count_turn();
        let max_calls = run.ledger.max_calls_of_next_reply(&run.spec);
        let known_urls = url_origins(run, &replied.offered).find_requested(&replied.reply);
        let work = run.phase.work_mut()?;
        let settings = &run.spec.settings;
        let progress = work.on_model_replied(replied, settings, max_calls, &known_urls)?;
        self.settle(progress);
        Some(())
    }

    /// Ends the run with the reply's answer, if any.
    fn on_summary_replied(&mut self, replied: &ModelReplied, failure: Option<Failure>) {
        let reply = SummaryReply::read(replied, &self.run.files.deliverables());
        let files = self.run.files.find_listed(reply.file_list);
        let marks_answers = self.run.spec.settings.summary_policy.is_some();
        self.events.push(reply.event(replied, marks_answers));
        match failure {
            Some(failure) => {
                let last_text = || self.run.conversation.last_text().to_owned();
                let answer = if reply.text.is_empty() { last_text() } else { reply.text };
                self.end(RunStatus::Failed, answer, files, Some(failure));
            }
            None if !reply.text.is_empty() => self.finish(reply.text, files),
            // The agent's last message is then the answer, unless it is blank.
            None => match self.run.conversation.final_text() {
                text if text.is_empty() => self.fail(ErrorCode::EmptyAnswer.into()),
                text => self.finish(text, files),
            },
        }
    }

    /// Processes the permanent failure of a model call.
    fn on_model_failed(&mut self, message: &MessageId, failure: &Failure) -> Handled {
        self.attempts_at(message)?;
        if self.run.compaction.fail(message) {
            return Some(());
        }
        if self.salvage_draft() {
            return Some(());
        }
        // No other text replaces an answer that was rejected for its content.
        if failure.code.is_about_content() {
            let files = self.run.files.list_offered();
            self.end(RunStatus::Failed, String::new(), files, Some(failure.clone()));
            return Some(());
        }
        let final_text = self.run.conversation.final_text();
        match self.run.phase.summary().map(|summary| summary.failure.clone()) {
            // The work is done and the agent described its result, which is then the answer.
            Some(None) if !final_text.is_empty() => {
                let files = self.run.files.list_offered();
                self.finish(final_text, files);
            }
            Some(Some(reason)) => self.fail(reason),
            Some(None) | None => self.fail(failure.clone()),
        }
        Some(())
    }

    /// Processes the result of a call.
    fn on_tool_returned(&mut self, call: &CallId, result: &ToolResult) -> Handled {
        let update = self.run.phase.agent_mut()?.on_tool_returned(call, result)?;
        self.run.ledger.count_tool_call();
        if let ToolResult::Done(output) = result {
            self.run.files.add_produced(&output.files);
        }
        self.settle(update.into());
        Some(())
    }

    fn on_file_added(&mut self, id: &str, file: &ProductFile) -> Handled {
        self.run.files.add_users_file(id, file).then_some(())?;
        self.run.taint();
        self.push(
            EntryId::local(EntryName::File(id.to_owned())),
            Event::FileAdded { file: file.clone() },
        );
        Some(())
    }

    /// Processes the write of the answer's file, successful or not, and returns the answer to the caller.
    fn on_answer_saved(&mut self, file: Option<&ProductFile>) -> Handled {
        let Phase::Closing(closing) = &self.run.phase else { return None };
        let Closing::AnswerFile(answer) = &**closing else { return None };
        let name = answer.name.clone();
        let text = answer.text.clone();
        self.run.files.add_produced(file.map_or(&[], std::slice::from_ref));
        self.answer_file = file.cloned();
        let files = self.run.files.list_offered();
        // The caller wants the file, so the run fails without it.
        let failure = name.filter(|_| file.is_none()).map(|_| ErrorCode::StoreUnavailable.into());
        let status = if failure.is_some() { RunStatus::Failed } else { RunStatus::Finished };
        self.end(status, text, files, failure);
        Some(())
    }

    /// Processes the end of a child. A child is only stopped together with its run, whose own stop may arrive
    /// later.
    fn on_child_ended(&mut self, ended: &ChildEnded) -> Handled {
        let work = self.run.phase.work_mut()?;
        let progress = work.on_child_ended(ended, &self.run.spec.settings)?;
        self.run.human_requests.forget_child(&ended.report.child);
        self.run.files.add_produced(&ended.files);
        self.run.ledger.add_child(&ended.spent);
        self.settle(progress);
        if ended.status == RunStatus::Stopped && !self.run.status().has_ended() {
            self.stop(None);
        }
        Some(())
    }

    /// Processes a limit. `None` if the limit no longer applies to the run.
    fn on_limit_reached(&mut self, limit: Limit) -> Handled {
        let seconds = self.run.spec.settings.budget.wall_ms / 1000;
        let time_used_up = Failure::new(ErrorCode::TimeUsedUp, seconds.to_string());
        match limit {
            Limit::WorkTime => {
                let agent = self.run.phase.work()?.agent();
                // Viewers do not see the compaction call, and the turn after it has not begun.
                let agent = agent.filter(|_| !self.run.compaction.is_open());
                self.events.extend(agent.and_then(|agent| agent.reset_event(&time_used_up)));
                self.break_off(time_used_up);
            }
            Limit::WallTime => {
                // The reason why the answer is only a summary, if any.
                let reason = self.run.phase.summary().and_then(|summary| summary.failure.clone());
                self.fail(reason.unwrap_or(time_used_up));
            }
            Limit::Hops => self.fail(Failure::new(ErrorCode::HopLimit, MAX_HOPS.to_string())),
        }
        Some(())
    }

    /// Stops the run, and keeps the text of the unfinished message.
    fn stop(&mut self, partial: Option<&PartialMessage>) {
        let partial = partial.filter(|partial| self.attempts_at(&partial.message).is_some());
        if let Some(PartialMessage { message, text }) = partial.cloned() {
            let id = EntryId::of_message(&message, EntryName::Message);
            self.push(id, stopped_message(message, text));
            self.run.last_finish = FinishReason::Done;
        }
        let draft = self.run.review.draft().map(|draft| draft.text.clone());
        let answer = draft.unwrap_or_else(|| self.run.conversation.last_text().to_owned());
        let files = self.run.files.list_offered();
        self.end(RunStatus::Stopped, answer, files, Some(ErrorCode::Stopped.into()));
    }
}

/// Returns the event of a message that was stopped before its model was done.
fn stopped_message(message: MessageId, text: String) -> Event {
    Event::MessageCompleted {
        message,
        text,
        reasoning: None,
        truncated: true,
        finish: FinishReason::Done,
        answer: false,
        draft: false,
        usage: Usage::default(),
    }
}

/// Returns the origins of a run's URLs, at a turn with these offered tools.
pub(super) fn url_origins<'a>(run: &'a Run, offered: &'a [OfferedTool]) -> UrlOrigins<'a> {
    let spec = &run.spec;
    let conversation = &run.conversation;
    let tool_sets = &run.tool_sets;
    let readable = run.files.readable();
    let produced = run.files.produced();
    UrlOrigins { spec, conversation, offered, tool_sets, readable, produced }
}
