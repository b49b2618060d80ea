//! The next action after each step of the work, in one place.
//!
//! The next action is the next turn, the summary, an offer of a budget extension, or the end.

use super::{Transition, url_origins};
use crate::agent_loop::{AgentLoop, Attempts, TurnUpdate};
use crate::conversation::ConversationItem;
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::file::ProductFile;
use crate::human::HumanRequest;
use crate::id::{EntryId, EntryName};
use crate::input::FinishReason;
use crate::review::ReviewOutcome;
use crate::run::Phase;
use crate::run::answer_file::find_answer_file;
use crate::run::closing::{Closing, SummaryCall};
use crate::run::ending::Ending;
use crate::run::final_state::FinalState;
use crate::run::progress::{Next, WorkUpdate};
use crate::run::work::{AbandonedWork, Work};
use crate::settings::SummaryPolicy;
use crate::status::RunStatus;

impl Transition<'_> {
    /// Applies the effect of an input on the work, and decides the next action.
    pub(super) fn settle(&mut self, progress: WorkUpdate) {
        let WorkUpdate { update, next, has_replanned } = progress;
        let TurnUpdate { events, items, requests, dead_end, answer_problem, verdict, .. } = update;
        if let Some(plan) = self.run.phase.plan().filter(|_| has_replanned) {
            self.run.concerns.plan_file.set_plan(plan);
        }
        self.events.extend(events);
        let reasoning = self.run.phase.request_reasoning().to_owned();
        self.ask(requests, &reasoning);
        if self.append_items(items) {
            self.run.phase.work_mut().into_iter().for_each(Work::forget_hint);
            // The agent has another turn, and may judge otherwise.
            if verdict.is_some() {
                self.run.phase.agent_mut().into_iter().for_each(AgentLoop::void_verdict);
            }
            return self.follow(next.after_user_message(), None);
        }
        if let Some(given) = verdict {
            let id = EntryId::of_call(&given.call, EntryName::Verdict);
            self.events.push((id, Event::VerdictGiven(given.verdict)));
        }
        if let Some(problem) = answer_problem {
            return self.fail(Failure::new(ErrorCode::BadAnswer, problem));
        }
        self.follow(next, dead_end);
    }

    fn follow(&mut self, next: Next, dead_end: Option<Failure>) {
        match next {
            Next::Wait => {
                let agent = self.run.phase.agent_mut();
                if agent.is_some_and(|agent| agent.has_queued_agents()) {
                    self.go_on(None);
                }
            }
            Next::Continue => self.go_on(dead_end),
            Next::Answer => self.answer(),
            Next::Stop(answer) => {
                self.run.last_finish = FinishReason::Done;
                let files = self.run.files.find_named(&answer);
                self.finish(answer, files);
            }
            Next::Choose { answer, files } => {
                self.run.last_finish = FinishReason::Done;
                let files = self.run.files.find_named_among(&answer, &files);
                self.finish(answer, files);
            }
            Next::Summarize => self.summarize(None),
            Next::Exhausted(failure) => self.break_off(failure),
            Next::Finish(answer) => {
                let mentions = self.run.files.find_named(&answer);
                let files =
                    if mentions.is_empty() { self.run.files.list_offered() } else { mentions };
                self.finish(answer, files);
            }
            Next::Fail(failure) => self.fail(failure),
            Next::Judged(verdict) => self.on_judged(verdict),
        }
    }

    /// Begins work that needs no input, and returns the events for viewers.
    pub(in crate::run) fn begin(mut self) -> Vec<(EntryId, Event)> {
        let settings = &self.run.spec.settings;
        let work = self.run.phase.work_mut();
        if let Some(progress) = work.and_then(|work| work.begin(settings)) {
            self.settle(progress);
            let is_awaiting = self.run.is_awaiting_humans();
            self.run.human_requests.update_pause(is_awaiting, self.at_ms);
        }
        self.events
    }

    /// Adds items to the conversation; after a complete turn, also the users' changes and messages. Returns
    /// true if users wrote messages.
    fn append_items(&mut self, items: Vec<ConversationItem>) -> bool {
        if items.is_empty() {
            return false;
        }
        self.extend_conversation(items);
        self.append_user_messages()
    }

    /// Adds the users' changes and messages to the conversation. Returns true if users wrote messages.
    pub(super) fn append_user_messages(&mut self) -> bool {
        let change = self.run.messages.take_plan_change();
        self.extend_conversation(change.into_iter().collect());
        let messages = self.run.messages.take_messages();
        let has_messages = !messages.is_empty();
        self.extend_conversation(messages);
        has_messages
    }

    pub(super) fn extend_conversation(&mut self, items: Vec<ConversationItem>) {
        let run = &mut *self.run;
        run.compaction.add_items(&run.urls.compress_items(&items));
        run.conversation.items.extend(items);
    }

    /// Continues the work: the next turn or child receives its share and room. Ends the work instead at a dead
    /// end, or if a part of the budget is used up.
    pub(super) fn go_on(&mut self, dead_end: Option<Failure>) {
        let run = &mut *self.run;
        let Some(work) = run.phase.work_mut() else { return };
        let failure = dead_end
            .or_else(|| run.ledger.failure(&run.spec))
            .or_else(|| work.turns_failure(&run.spec.settings))
            .filter(|_| !work.agent().is_some_and(AgentLoop::has_answered));
        if let Some(failure) = failure {
            return self.exhaust_budget(failure);
        }
        let events = work.allocate_shares(run.ledger.remaining(&run.spec), &run.spec);
        self.events.extend(events);
        self.run.compact_if_due();
    }

    /// Offers an extension of a used-up budget, or ends the work early.
    fn exhaust_budget(&mut self, failure: Failure) {
        if self.run.ledger.has_open_offer() {
            return;
        }
        match self.run.ledger.offer_top_up(&failure, &self.run.spec) {
            Some(offer) => self.ask(vec![offer], ""),
            None => self.break_off(failure),
        }
    }

    /// Sends human requests, if there are any.
    pub(super) fn ask(&mut self, requests: Vec<HumanRequest>, reasoning: &str) {
        let settings = &self.run.spec.settings.human;
        let event = self.run.human_requests.ask(requests, reasoning, settings, self.at_ms);
        self.events.extend(event);
    }

    /// Ends the work of the agent: its last reply is the answer, or a closing call writes the answer.
    fn answer(&mut self) {
        let conversation = &self.run.conversation;
        let is_answer = conversation.standalone_answer().is_some();
        let is_final = match self.run.summary_policy() {
            None => true,
            Some(SummaryPolicy::WhenNeeded) => is_answer,
            // The summary combines several turns.
            Some(SummaryPolicy::Always) => is_answer && conversation.items.len() == 1,
        };
        if is_final {
            self.finish_with_answer();
        } else {
            self.summarize(None);
        }
    }

    /// Starts the closing call that writes the answer, after completed work or a failure.
    pub(super) fn summarize(&mut self, failure: Option<Failure>) {
        self.run.freeze_taint();
        let number = self.run.review.count() + 1;
        let attempts = Attempts::default();
        let summary = SummaryCall { attempts, failure, number };
        let closing = Phase::Closing(Box::new(Closing::Summary(summary)));
        if let Phase::Working(work) = std::mem::replace(&mut self.run.phase, closing) {
            self.run.review.keep_work(work);
        }
    }

    /// Ends the run with the agent's last message as the answer. Fails if the message is empty.
    fn finish_with_answer(&mut self) {
        let answer = self.run.conversation.final_text();
        if answer.is_empty() {
            return self.fail(ErrorCode::EmptyAnswer.into());
        }
        if self.run.spec.settings.summary_policy.is_some() {
            self.events.iter_mut().for_each(|(_, event)| mark_answer(event));
        }
        let files = self.run.files.find_named(&answer);
        self.finish(answer, files);
    }

    /// Ends the run with this answer, or begins the review of the answer.
    pub(super) fn finish(&mut self, answer: String, files: Vec<ProductFile>) {
        if !self.begin_review(&answer, &files) {
            self.conclude(answer, files, ReviewOutcome::NotReviewed);
        }
    }

    /// Ends the run with its final answer. An answer for a file is stored first.
    pub(super) fn conclude(
        &mut self,
        answer: String,
        files: Vec<ProductFile>,
        outcome: ReviewOutcome,
    ) {
        self.run.review.close(outcome);
        match find_answer_file(&self.run.spec, &answer) {
            Some(file) => {
                self.abandon_work();
                self.run.phase = Phase::Closing(Box::new(Closing::AnswerFile(file)));
            }
            None => self.end(RunStatus::Finished, answer, files, None),
        }
    }

    /// Ends the work early: a run sums up its results, or leaves them to the run above. A run with a draft
    /// ends with the draft.
    pub(super) fn break_off(&mut self, failure: Failure) {
        if self.run.review.draft().is_some() {
            return self.fail(failure);
        }
        if self.run.phase.is_working() && self.run.summary_policy().is_none() {
            return self.fail(failure);
        }
        self.abandon_work();
        self.summarize(Some(failure));
    }

    /// Ends the work: keeps the completed part, and adds the ends of open work.
    pub(super) fn abandon_work(&mut self) {
        let run = &mut *self.run;
        run.freeze_taint();
        run.compaction.close();
        run.concerns.close();
        run.human_requests.close();
        run.ledger.close_offer();
        let work = run.phase.work_mut();
        let AbandonedWork { events, items, running } = work.map(Work::abandon).unwrap_or_default();
        run.conversation.items.extend(items);
        run.child_stops.add(running);
        self.events.extend(events);
    }

    /// Fails the run with the agent's last text. A run with a draft ends with the draft instead.
    pub(super) fn fail(&mut self, failure: Failure) {
        if self.salvage_draft() {
            return;
        }
        let answer = self.run.conversation.last_text().to_owned();
        let files = self.run.files.list_offered();
        self.end(RunStatus::Failed, answer, files, Some(failure));
    }

    /// Ends the run. Viewers see the end of a child in its run.
    pub(super) fn end(
        &mut self,
        status: RunStatus,
        answer: String,
        files: Vec<ProductFile>,
        failure: Option<Failure>,
    ) {
        let paused_ms = self.run.human_requests.pause().total_ms(self.at_ms);
        self.abandon_work();
        let run = &mut *self.run;
        let last_finish = run.last_finish;
        let spent = *run.ledger.spending();
        let review = run.review.outcome().filter(|_| status == RunStatus::Finished);
        let ending = Ending { status, answer, files, failure, last_finish, review, spent };
        let child_result = match &run.spec.child {
            None => {
                let took_ms = self.at_ms.saturating_sub(run.started_at_ms);
                let took_ms = u64::try_from(took_ms).unwrap_or_default();
                let result = ending.into_run_result(took_ms, paused_ms);
                self.events.push((EntryId::end(), Event::RunEnded(result)));
                None
            }
            Some(child) => Some(ending.into_child_result(
                child,
                run.is_tainted(),
                self.answer_file.as_ref(),
                &url_origins(run, &[]),
            )),
        };
        self.run.phase = Phase::Ended(FinalState::of(status, child_result));
    }
}

/// Marks a complete message as the answer, which the end of its run or child repeats.
fn mark_answer(event: &mut Event) {
    if let Event::MessageCompleted { answer, .. } = event {
        *answer = true;
    }
}
