//! What was said in a run: append-only, each tool call together with its outcome.

use serde::{Deserialize, Serialize};

use crate::id::MessageId;
use crate::input::TaskReport;
use crate::plan::Plan;
use crate::tool::{Call, Outcome};

/// A question and its answer from an earlier run of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// What was asked.
    pub question: String,
    /// How it ended, for the model: the answer, or the sentence of its failure.
    pub answer: String,
}

/// What a model thought before it spoke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The thoughts.
    pub text: String,
    /// What the model's client needs to send them back with the turn; opaque to everybody else, and
    /// possibly there without any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// One model reply and what came of its calls. A turn enters the conversation when its last call is
/// answered, so a call never stands without its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The reply's id.
    pub message: MessageId,
    /// What it said.
    pub text: String,
    /// What it thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Its calls in the order it made them, whatever order they were answered in.
    pub calls: Vec<(Call, Outcome)>,
}

/// Something the loop tells the model between two turns. Its words come from `prompts/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The reply was cut off at the output limit: go on.
    CutOff,
    /// The reply held neither text nor calls: say something.
    Empty,
    /// The planner made no plan: make one, or answer if none is needed.
    NoPlan,
}

/// A piece of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A reply and what came of it.
    Turn(Turn),
    /// A word of the loop's.
    Note(Note),
    /// What came of a round of tasks, in the plan's order, and the plan after it.
    Round {
        /// The tasks.
        reports: Vec<TaskReport>,
        /// The plan.
        plan: Plan,
    },
}

/// What the run's model is shown beside its instructions, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The session's earlier questions and answers.
    pub history: Vec<Exchange>,
    /// The run's own question.
    pub question: String,
    /// What followed.
    pub items: Vec<Item>,
}

impl Conversation {
    /// The text of the newest turn that said something.
    #[must_use]
    pub fn last_words(&self) -> &str {
        self.items
            .iter()
            .rev()
            .find_map(|item| match item {
                Item::Turn(turn) if !turn.text.trim().is_empty() => Some(turn.text.as_str()),
                Item::Turn(_) | Item::Note(_) | Item::Round { .. } => None,
            })
            .unwrap_or_default()
    }
}
