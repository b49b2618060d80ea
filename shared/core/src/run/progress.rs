//! What an input did to a run's work.

use crate::agent_loop::TurnUpdate;

/// What an input did to the work, and what is to come of that.
#[derive(Debug)]
pub(super) struct Progress {
    /// What it did to the turn at work.
    pub(super) update: TurnUpdate,
    /// What follows from it.
    pub(super) next: Next,
    /// Whether the planner or a person had a word in the plan, which its file is to hold.
    pub(super) has_replanned: bool,
}

/// What follows from a move of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The turn at work is not complete: nothing is decided.
    Wait,
    /// There is more to do, if the budget allows it.
    Continue,
    /// The agent's last words may be the answer.
    Answer,
    /// The work is done: sum up.
    Summarize,
    /// The rounds are used up: sum up what there is.
    RoundsExhausted,
}

impl Progress {
    /// Progress after which there is more to do.
    pub(super) fn going_on(update: TurnUpdate) -> Self {
        Self { update, next: Next::Continue, has_replanned: false }
    }

    /// The same with a plan that its file is to hold.
    pub(super) fn with_new_plan(self) -> Self {
        Self { has_replanned: true, ..self }
    }
}

impl From<TurnUpdate> for Progress {
    fn from(update: TurnUpdate) -> Self {
        let next = match (update.done, update.items.is_empty()) {
            (true, _) => Next::Answer,
            (false, false) => Next::Continue,
            (false, true) => Next::Wait,
        };
        Self { update, next, has_replanned: false }
    }
}

impl Next {
    /// What follows after all once a person's words have joined the conversation: the agent has the word
    /// once more.
    pub(super) fn after_user_message(self) -> Self {
        match self {
            Self::Answer | Self::Summarize => Self::Continue,
            Self::Wait | Self::Continue | Self::RoundsExhausted => self,
        }
    }
}
