//! What all tasks of a round start from, so that it need not be stored with each of them.

use serde::{Deserialize, Serialize};

use super::{Asked, TaskReport};
use crate::conversation::{Compacted, Exchange};

/// The conversation at the start of a round. Two rounds of different runs never have the same one:
/// it says when its run was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundStart {
    question: String,
    base_prompt: String,
    history: Vec<Exchange>,
    earlier: Option<Compacted>,
    rounds: Vec<TaskReport>,
    ends_at_ms: Option<i64>,
}

impl RoundStart {
    /// Takes it out of what a task starts with; [`Self::into_task`] puts it back. `None` for a run.
    pub fn take_from(asked: &mut Asked) -> Option<Self> {
        let task = asked.task.as_mut()?;
        Some(Self {
            rounds: std::mem::take(&mut task.rounds),
            ends_at_ms: task.ends_at_ms,
            question: std::mem::take(&mut asked.question),
            base_prompt: std::mem::take(&mut asked.base_prompt),
            history: std::mem::take(&mut asked.history),
            earlier: asked.earlier.take(),
        })
    }

    /// Puts it back into the task that it was taken from.
    pub fn into_task(self, asked: &mut Asked) {
        let Self { question, base_prompt, history, earlier, rounds, ends_at_ms: _ } = self;
        asked.question = question;
        asked.base_prompt = base_prompt;
        asked.history = history;
        asked.earlier = earlier;
        if let Some(task) = &mut asked.task {
            task.rounds = rounds;
        }
    }
}
