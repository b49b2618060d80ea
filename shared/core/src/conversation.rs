//! What was said in a run: append-only, each tool call together with its outcome.

use serde::{Deserialize, Serialize};

use crate::id::{FileName, MessageId, UserId};
use crate::input::TaskReport;
use crate::plan::Plan;
use crate::tool::{Call, Outcome};

/// A question and its answer from an earlier run of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// What was asked.
    pub question: String,
    /// How it ended, for the model: the answer, or the sentence of its failure.
    pub answer: String,
    /// Whether that run had read text that anybody may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// Who asked; in old records nobody but the session's owner could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<UserId>,
}

impl Exchange {
    /// Whether this user asked: what anybody else did is data to the user's runs.
    #[must_use]
    pub fn is_of(&self, user: &UserId) -> bool {
        self.asker.as_ref().is_none_or(|asker| asker == user)
    }
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
    /// The thoughts as the model wrote them, where that was with placeholders for URLs: they go back
    /// to it as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
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
    /// A call has brought the same result too often: do something else, or the work ends.
    Repeated,
}

/// A piece of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A reply and what came of it.
    Turn(Turn),
    /// A word of the loop's.
    Note(Note),
    /// What the user said while the run was at work.
    Said(String),
    /// What came of a round of tasks, in the plan's order, and the plan after it.
    Round {
        /// The tasks.
        reports: Vec<TaskReport>,
        /// The plan.
        plan: Plan,
    },
}

/// What stands for the oldest part of a conversation since it was summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// What a model made of it, at most [`MAX_COMPACTED`] bytes.
    pub text: String,
    /// How many earlier questions and answers it stands for.
    pub exchanges: u32,
    /// How many turns and rounds it stands for.
    pub turns: u32,
    /// The files that were written, read or made of long results in it, the newest last: names are
    /// kept by us and not left to a model.
    pub files: Vec<FileName>,
    /// The newest words of the agent's in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

/// Bytes of a text that sums up.
pub const MAX_COMPACTED: usize = 16 * 1024;

/// Files that are named with it.
const MAX_COMPACTED_FILES: usize = 100;

/// The oldest part of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// So many of its questions and answers.
    pub exchanges: usize,
    /// So many of its items.
    pub items: usize,
}

/// What the run's model is shown beside its instructions, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// What was summed up; it stands before everything else.
    pub compacted: Option<Compacted>,
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
                Item::Turn(_) | Item::Note(_) | Item::Said(_) | Item::Round { .. } => None,
            })
            .or(self.compacted.as_ref().map(|compacted| compacted.words.as_str()))
            .unwrap_or_default()
    }

    /// What the agent said in its newest turn, if nothing followed it, with what was said before it was cut
    /// off. Empty, where that is blank.
    #[must_use]
    pub fn final_words(&self) -> String {
        let mut texts = Vec::new();
        let mut items = self.items.iter().rev();
        while let Some(Item::Turn(turn)) = items.next() {
            texts.extend(Some(turn.text.as_str()).filter(|text| !text.trim().is_empty()));
            let Some(Item::Note(Note::CutOff)) = items.next() else { break };
        }
        texts.reverse();
        texts.concat()
    }

    /// The newest reply if it is an answer by itself: it says something, calls nothing, and is not the end
    /// of a reply that was cut off.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        let (last, before) = self.items.split_last()?;
        let Item::Turn(turn) = last else { return None };
        let goes_on = match before {
            [.., Item::Turn(begun), Item::Note(Note::CutOff)] => !begun.text.trim().is_empty(),
            _ => false,
        };
        let is_answer = turn.calls.is_empty() && !turn.text.trim().is_empty() && !goes_on;
        is_answer.then_some(turn.text.as_str())
    }

    /// Replaces the oldest part by a text that sums it up, together with what was summed up before.
    pub fn compact(&mut self, part: Part, text: &str) {
        let files = self.files_of(part);
        let last_words = self.last_words().to_owned();
        self.history.drain(..part.exchanges.min(self.history.len()));
        let summed_up: Vec<Item> = self.items.drain(..part.items.min(self.items.len())).collect();
        let before = self.compacted.take();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let (exchanges, turns) =
            before.as_ref().map_or((0, 0), |before| (before.exchanges, before.turns));
        let mut text = text.trim().to_owned();
        text.truncate(text.floor_char_boundary(MAX_COMPACTED));
        let words = if self.last_words().is_empty() { last_words } else { String::new() };
        self.compacted = Some(Compacted {
            text,
            exchanges: exchanges.saturating_add(count(part.exchanges)),
            turns: turns.saturating_add(count(turns_among(&summed_up))),
            files,
            words,
        });
    }

    /// The files that a text is to name which sums up this part.
    #[must_use]
    pub fn files_of(&self, part: Part) -> Vec<FileName> {
        let mut files: Vec<FileName> =
            self.compacted.iter().flat_map(|before| before.files.iter().cloned()).collect();
        for name in self.items.iter().take(part.items).flat_map(Item::files) {
            files.retain(|known| known != name);
            files.push(name.clone());
        }
        files.split_off(files.len().saturating_sub(MAX_COMPACTED_FILES))
    }
}

/// How many turns and rounds there are among some items.
#[must_use]
pub fn turns_among(items: &[Item]) -> usize {
    items.iter().filter(|item| !matches!(item, Item::Note(_) | Item::Said(_))).count()
}

impl Item {
    /// The files that it tells of.
    fn files(&self) -> Vec<&FileName> {
        match self {
            Self::Turn(turn) => {
                turn.calls.iter().flat_map(|(_, outcome)| outcome.files()).collect()
            }
            Self::Round { reports, .. } => {
                reports.iter().flat_map(|report| &report.files).collect()
            }
            Self::Note(_) | Self::Said(_) => Vec::new(),
        }
    }
}
