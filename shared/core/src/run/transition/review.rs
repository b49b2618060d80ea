//! The review of an answer before the answer is final.

use super::Transition;
use crate::conversation::{ConversationItem, ReviewNote};
use crate::entry::{Event, ReviewResult};
use crate::error_code::Failure;
use crate::file::ProductFile;
use crate::id::{ChildId, EntryId, EntryName, MessageId};
use crate::review::{ReviewOutcome, ReviewVerdict};
use crate::run::Phase;
use crate::run::review::{DraftAnswer, Reviewer};

impl Transition<'_> {
    /// Starts the review of an answer, if the run has reviews and budget for one. Returns true if the review
    /// has started.
    pub(super) fn begin_review(&mut self, answer: &str, files: &[ProductFile]) -> bool {
        let run = &mut *self.run;
        let Some(policy) = run.review.policy().cloned() else { return false };
        // The tool that makes the answer is called once.
        let is_made = run.spec.agent().is_some_and(|agent| agent.after.is_some());
        if is_made || run.ledger.failure(&run.spec).is_some() {
            return false;
        }
        let message = self.events.iter_mut().rev().find_map(|(_, event)| mark_draft(event, answer));
        run.freeze_taint();
        if run.phase.work().is_some_and(|work| work.agent().is_none()) {
            // The results of the work join the conversation for the call that revises the answer.
            self.abandon_work();
        }
        let run = &mut *self.run;
        let draft = DraftAnswer {
            text: answer.to_owned(),
            files: files.to_vec(),
            message,
            outcome: ReviewOutcome::NotReviewed,
        };
        let number = run.review.begin(draft);
        let reviewer = Reviewer::new(number, &policy.agent, &run.spec.question, answer);
        self.events.push(reviewer.start_event());
        let before = std::mem::replace(&mut run.phase, Phase::Working(Box::new(reviewer)));
        if let Phase::Working(work) = before {
            run.review.keep_work(work);
        }
        self.go_on(None);
        true
    }

    /// Ends the run with an accepted answer, or with the last answer. Otherwise the agent revises the answer.
    pub(super) fn on_judged(&mut self, result: Result<ReviewVerdict, Failure>) {
        let run = &mut *self.run;
        run.freeze_taint();
        let can_revise = run.review.can_revise();
        let round = run.review.count();
        let Some(mut draft) = run.review.take_draft() else { return };
        let child = ChildId::Review(round);
        let (verdict, failure) = match result {
            Ok(verdict) => (Some(verdict), None),
            Err(failure) => (None, Some(failure)),
        };
        let event = Event::ReviewCompleted(ReviewResult {
            child: child.clone(),
            round,
            accepted: verdict.as_ref().is_some_and(|verdict| verdict.accepted),
            problems: verdict.iter().flat_map(|verdict| verdict.problems.clone()).collect(),
            missing: verdict.iter().flat_map(|verdict| verdict.missing.clone()).collect(),
            message: draft.message.clone(),
            failure,
        });
        self.push(EntryId::of_child(child, EntryName::Reviewed), event);
        draft.outcome = match &verdict {
            None => ReviewOutcome::NotReviewed,
            Some(verdict) if verdict.accepted => ReviewOutcome::Accepted,
            Some(_) => ReviewOutcome::NotAccepted,
        };
        match verdict.filter(|verdict| !verdict.accepted && can_revise) {
            Some(verdict) => self.revise(draft, verdict),
            None => self.finish_draft(draft),
        }
    }

    /// Lets the agent write a better answer. Without an agent, a closing call writes the answer.
    fn revise(&mut self, draft: DraftAnswer, verdict: ReviewVerdict) {
        if let Some(message) = &draft.message {
            let id = EntryId::of_message(message, EntryName::Rejected);
            self.push(id, Event::answer_rejected(message.clone()));
        }
        let is_in_turn = self.run.conversation.final_text() == draft.text;
        let answer = (!is_in_turn).then(|| draft.text.clone());
        let ReviewVerdict { problems, missing, .. } = verdict;
        let note = ReviewNote { answer, problems, missing };
        self.extend_conversation(vec![ConversationItem::Review(Box::new(note))]);
        let run = &mut *self.run;
        run.review.keep_draft(draft);
        let Some(work) = run.review.take_work() else { return self.summarize(None) };
        run.phase = Phase::Working(work);
        if run.tainted {
            run.taint();
        }
        self.go_on(None);
    }

    /// Ends the run with the newest draft. Returns false if there is no draft.
    pub(super) fn salvage_draft(&mut self) -> bool {
        let draft = self.run.review.take_draft();
        draft.map(|draft| self.finish_draft(draft)).is_some()
    }

    fn finish_draft(&mut self, draft: DraftAnswer) {
        self.conclude(draft.text, draft.files, draft.outcome);
    }
}

/// Marks a complete message with the answer as a draft, and returns its id.
fn mark_draft(event: &mut Event, answer_text: &str) -> Option<MessageId> {
    let Event::MessageCompleted { message, text, answer, draft, .. } = event else { return None };
    let text = text.trim();
    if text.is_empty() || !answer_text.contains(text) {
        return None;
    }
    (*answer, *draft) = (false, true);
    Some(message.clone())
}
