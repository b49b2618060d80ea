//! The effects of an input on a run's work.

use crate::agent_loop::TurnUpdate;
use crate::error_code::Failure;
use crate::file::ProductFile;
use crate::review::ReviewVerdict;

/// The effect of an input on the work, and the next action.
#[derive(Debug)]
pub(super) struct WorkUpdate {
    /// The update of the open turn.
    pub(super) update: TurnUpdate,
    /// The next action.
    pub(super) next: Next,
    /// True if the planner or a user changed the plan, so that its file must be written.
    pub(super) has_replanned: bool,
}

/// The next action of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    /// The open turn is not complete: no decision is due.
    Wait,
    /// More work is left, if the budget allows it.
    Continue,
    /// The agent's last message may be the answer.
    Answer,
    /// The results of tools are the answer.
    Stop(String),
    /// The answer of a child, with its files, is the answer.
    Choose {
        /// The answer.
        answer: String,
        /// The files of the child.
        files: Vec<ProductFile>,
    },
    /// The work is done: sum up.
    Summarize,
    /// The work has reached a limit of its own: sum up the results so far.
    Exhausted(Failure),
    /// The work has written the answer itself.
    Finish(String),
    /// The work has failed; nothing sums it up.
    Fail(Failure),
    /// The answer was judged, or the reviewer failed.
    Judged(Result<ReviewVerdict, Failure>),
}

impl WorkUpdate {
    /// Creates an update after which the work continues.
    pub(super) fn going_on(update: TurnUpdate) -> Self {
        Self { update, next: Next::Continue, has_replanned: false }
    }

    /// Returns the update with a changed plan for the plan's file.
    pub(super) fn with_new_plan(self) -> Self {
        Self { has_replanned: true, ..self }
    }
}

impl From<TurnUpdate> for WorkUpdate {
    fn from(update: TurnUpdate) -> Self {
        let chosen = update.verdict.as_ref().filter(|given| given.verdict.chosen.is_some());
        let next = match (&update.tool_answer, update.done, update.items.is_empty()) {
            (Some(answer), _, _) => match chosen {
                Some(given) => Next::Choose { answer: answer.clone(), files: given.files.clone() },
                None => Next::Stop(answer.clone()),
            },
            (None, true, _) => Next::Answer,
            (None, false, false) => Next::Continue,
            (None, false, true) => Next::Wait,
        };
        Self { update, next, has_replanned: false }
    }
}

impl Next {
    /// Returns the next action after users' messages have joined the conversation: the agent has another
    /// turn.
    pub(super) fn after_user_message(self) -> Self {
        match self {
            Self::Answer | Self::Stop(_) | Self::Choose { .. } | Self::Summarize => Self::Continue,
            Self::Wait
            | Self::Continue
            | Self::Exhausted(_)
            | Self::Finish(_)
            | Self::Fail(_)
            | Self::Judged(_) => self,
        }
    }
}
