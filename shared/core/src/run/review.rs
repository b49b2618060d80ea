//! The review of a run's answers: the current draft, and the work that continues after criticism.

mod reviewer;

pub(super) use reviewer::Reviewer;

use super::work::Work;
use crate::file::ProductFile;
use crate::id::MessageId;
use crate::input::RunSpec;
use crate::review::{ReviewOutcome, ReviewPolicy};

/// The review of a run's answers. A run without a policy has no reviews.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Review {
    policy: Option<ReviewPolicy>,
    /// The number of reviews so far.
    count: u32,
    /// The newest answer that is not final.
    draft: Option<DraftAnswer>,
    /// The work that wrote the draft, if an agent has a further turn.
    work: Option<Box<dyn Work>>,
    outcome: Option<ReviewOutcome>,
}

/// An answer that is not final.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DraftAnswer {
    pub(super) text: String,
    /// The files of the answer, most important first.
    pub(super) files: Vec<ProductFile>,
    /// The message with the answer, if a model wrote the answer.
    pub(super) message: Option<MessageId>,
    /// The result of the review if no better answer follows.
    pub(super) outcome: ReviewOutcome,
}

impl Review {
    /// Creates the state at the start of a run.
    pub(super) fn of(spec: &RunSpec) -> Self {
        let policy = spec.review.clone().filter(|policy| policy.rounds > 0 && spec.child.is_none());
        Self { policy, ..Self::default() }
    }

    /// Returns the policy of a run whose answers are judged.
    pub(super) fn policy(&self) -> Option<&ReviewPolicy> {
        self.policy.as_ref()
    }

    /// Returns the number of reviews so far.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Returns true if the current answer can be revised once more.
    pub(super) fn can_revise(&self) -> bool {
        self.policy().is_some_and(|policy| self.count <= policy.rounds)
    }

    /// Keeps the work of an agent whose answer a closing call writes.
    pub(super) fn keep_work(&mut self, work: Box<dyn Work>) {
        let has_turn = self.policy.is_some() && work.agent().is_some();
        self.work = has_turn.then_some(work);
    }

    /// Returns the work for another turn after criticism, if an agent wrote the draft.
    pub(super) fn take_work(&mut self) -> Option<Box<dyn Work>> {
        self.work.take()
    }

    /// Begins the review of a draft, and returns the number of the review.
    pub(super) fn begin(&mut self, draft: DraftAnswer) -> u32 {
        self.count += 1;
        self.draft = Some(draft);
        self.count
    }

    /// Returns the answer that is not final, if any.
    pub(super) fn draft(&self) -> Option<&DraftAnswer> {
        self.draft.as_ref()
    }

    /// Keeps a draft for the case that no better answer follows.
    pub(super) fn keep_draft(&mut self, draft: DraftAnswer) {
        self.draft = Some(draft);
    }

    /// Removes and returns the draft.
    pub(super) fn take_draft(&mut self) -> Option<DraftAnswer> {
        self.draft.take()
    }

    /// Ends the review of the final answer.
    pub(super) fn close(&mut self, outcome: ReviewOutcome) {
        (self.draft, self.work) = (None, None);
        self.outcome = self.policy.as_ref().map(|_| outcome);
    }

    /// Returns the result of the review of the final answer. `None` for a run without reviews.
    pub(super) fn outcome(&self) -> Option<ReviewOutcome> {
        self.outcome
    }
}
