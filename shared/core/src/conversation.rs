//! The conversation of a run: append-only, each tool call together with its result.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error_code::Failure;
use crate::id::{ChildId, FileName, MessageId, StepId, TaskId, UserId};
use crate::language::Language;
use crate::plan::Plan;
pub use crate::reply::Reasoning;
use crate::tool::{ToolCall, ToolResult};

/// A question and its answer from an earlier run of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The question as the user wrote it.
    pub question: String,
    /// The end of the run for the model: the answer, or the sentence of its failure.
    pub answer: String,
    /// True if the run had read text that anybody may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// The asker; `None` in old records, in which only the session's owner could ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asker: Option<UserId>,
    /// The names of the files that the run offered to the user, up to [`Exchange::MAX_FILES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileName>,
}

impl Exchange {
    /// The maximum number of file names in an exchange.
    pub const MAX_FILES: usize = 12;

    /// Returns true if this user asked the question. Exchanges of other users are data to the user's runs.
    #[must_use]
    pub fn is_asked_by(&self, user: &UserId) -> bool {
        self.asker.as_ref().is_none_or(|asker| asker == user)
    }
}

/// One model reply and the results of its calls. A turn joins the conversation with its last result, so every
/// call has a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The id of the reply, and the prefix of the call ids.
    pub message: MessageId,
    /// The text of the reply; empty if the reply only calls tools.
    pub text: String,
    /// The reasoning before the text, if the model shows any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// The calls in the order of the reply, with their results.
    pub calls: Vec<(ToolCall, ToolResult)>,
}

/// A text of the loop to its model between two turns. The words come from `prompts/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nudge {
    /// The reply was cut off at the output limit: continue.
    CutOff,
    /// The reply held neither text nor calls: write a text.
    Empty,
    /// The planner created no plan: it must create a plan, or answer if no plan is needed.
    NoPlan,
    /// The answer does not match the format in the agent's file, for this reason. The model must correct it.
    BadAnswer(String),
    /// A call has had the same result too often: do something else, or the work ends.
    Repeated,
}

/// Maximum bytes of a child's text in its run's conversation. The child's journal holds the whole text.
pub const MAX_REPORT: usize = 4 * 1024;

/// The report about a task for the planner and later tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildReport {
    /// The id of the child, as in its [`crate::input::ChildSpec`].
    #[serde(alias = "task")]
    pub child: ChildId,
    /// The step in one line, `stage: details`.
    pub description: String,
    /// The result in the agent's words, at most [`MAX_REPORT`] bytes; the existing part for a failed child.
    pub text: String,
    /// The failure of a child that did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The names of the child's files.
    pub files: Vec<FileName>,
    /// True if the child completed its work.
    pub done: bool,
    /// True if a user skipped the child; `text` is then the user's comment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// The comment of the user who changed the text; may be empty. `None` if the text is the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_comment: Option<String>,
    /// True if the agent was cut off before the end of the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The known URLs of the text. The agent may have invented any other URL.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_urls: Vec<String>,
}

impl ChildReport {
    /// Returns the step of the report; `None` for an agent that was called.
    #[must_use]
    pub fn step_id(&self) -> Option<StepId> {
        self.child.task().map(TaskId::step_id)
    }

    /// Returns the report's text for a model or a user. For a failed child, the sentence of the failure
    /// precedes the text.
    #[must_use]
    pub fn full_text(&self, language: Language) -> Cow<'_, str> {
        let Some(failure) = &self.failure else { return Cow::Borrowed(&self.text) };
        let sentence = failure.sentence(language);
        Cow::Owned(if self.text.is_empty() {
            sentence
        } else {
            format!("{sentence}\n\n{}", self.text)
        })
    }
}

/// A piece of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum ConversationItem {
    /// A reply and the results of its calls, shared among the states of the run.
    Turn(Arc<Turn>),
    /// A nudge of the loop.
    Nudge(Nudge),
    /// A user's message while the run was at work.
    UserMessage(String),
    /// A reviewer did not accept the answer.
    Review(Box<ReviewNote>),
    /// A user changed the plan between two planner turns.
    PlanEdited(Box<PlanChange>),
    /// The reports of a round of tasks, in the plan's order, and the plan after the round.
    Round {
        /// The reports of the round's tasks, in the plan's order.
        reports: Vec<ChildReport>,
        /// The plan after the round.
        plan: Plan,
    },
}

/// The judgement of an answer for the agent that writes the next answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewNote {
    /// The answer, unless the newest turn holds the answer.
    pub answer: Option<String>,
    /// The faults of the answer, most serious first.
    pub problems: Vec<String>,
    /// The parts of the question without an answer.
    pub missing: Vec<String>,
}

/// A plan before and after a user's edit: title, steps and dependencies. The steps' progress is not included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChange {
    /// The plan as the planner knew it.
    pub before: Plan,
    /// The plan after the user's edit.
    pub after: Plan,
    /// The user's comment; may be empty.
    pub comment: String,
}

/// The summary in place of the oldest part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactedContext {
    /// The model's summary, at most [`MAX_COMPACTED`] bytes.
    pub text: String,
    /// The number of earlier questions and answers in the summary.
    pub exchanges: u32,
    /// The number of turns and rounds in the summary.
    pub turns: u32,
    /// The files that were written, read or created from long results in this part, newest last. The code
    /// keeps the names, not the model.
    pub files: Vec<FileName>,
    /// The agent's newest text in this part.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_text: String,
    /// True if the summary includes text that anybody may have written, from an earlier run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

/// Maximum exchanges in a run's history. A history of this length has its older half summed up.
pub const MAX_HISTORY: usize = 20;

/// The summary of a session's oldest exchanges, for the session's next run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMemory {
    /// The text and the files, without turns of the next run.
    pub compacted: CompactedContext,
    /// The number of exchanges that are newer than the summary and older than the exchange of the run that
    /// made the summary.
    pub newer_exchanges: u32,
}

/// Maximum bytes of a summary.
pub const MAX_COMPACTED: usize = 16 * 1024;

/// Maximum files that a summary names.
const MAX_COMPACTED_FILES: usize = 100;

/// The oldest part of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactionRange {
    /// The number of questions and answers.
    pub exchanges: usize,
    /// The number of conversation items.
    pub items: usize,
}

/// The model's input besides its instructions, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The summary, which precedes everything else.
    pub compacted: Option<CompactedContext>,
    /// The session's earlier questions and answers.
    pub history: Vec<Exchange>,
    /// The run's own question.
    pub question: String,
    /// Turns, nudges, messages and rounds since the question, oldest first.
    pub items: Vec<ConversationItem>,
}

impl Conversation {
    /// Returns the text of the newest turn with text.
    #[must_use]
    pub fn last_text(&self) -> &str {
        self.items
            .iter()
            .rev()
            .find_map(|item| match item {
                ConversationItem::Turn(turn) if !turn.text.trim().is_empty() => {
                    Some(turn.text.as_str())
                }
                _ => None,
            })
            .or(self.compacted.as_ref().map(|compacted| compacted.last_text.as_str()))
            .unwrap_or_default()
    }

    /// Returns the text of the newest turn if no other item followed it. Includes the earlier parts of a
    /// reply that was cut off. Empty if the text is blank.
    #[must_use]
    pub fn final_text(&self) -> String {
        let mut texts = Vec::new();
        let mut items = self.items.iter().rev();
        while let Some(ConversationItem::Turn(turn)) = items.next() {
            texts.extend(Some(turn.text.as_str()).filter(|text| !text.trim().is_empty()));
            let Some(ConversationItem::Nudge(Nudge::CutOff)) = items.next() else { break };
        }
        texts.reverse();
        texts.concat()
    }

    /// Returns the newest reply if it is an answer by itself. Such a reply has text, calls no tool and does
    /// not continue a reply that was cut off.
    #[must_use]
    pub fn standalone_answer(&self) -> Option<&str> {
        let (last, before) = self.items.split_last()?;
        let ConversationItem::Turn(turn) = last else { return None };
        let goes_on = match before {
            [.., ConversationItem::Turn(cut_turn), ConversationItem::Nudge(Nudge::CutOff)] => {
                !cut_turn.text.trim().is_empty()
            }
            _ => false,
        };
        let is_answer = turn.calls.is_empty() && !turn.text.trim().is_empty() && !goes_on;
        is_answer.then_some(turn.text.as_str())
    }

    /// Replaces the oldest part, including an earlier summary, with a summary.
    pub fn compact_oldest(&mut self, part: CompactionRange, text: &str) {
        let files = self.files_in_range(part);
        let last_words = self.last_text().to_owned();
        self.history.drain(..part.exchanges.min(self.history.len()));
        let summed_up: Vec<ConversationItem> =
            self.items.drain(..part.items.min(self.items.len())).collect();
        let before = self.compacted.take();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let (exchanges, turns) =
            before.as_ref().map_or((0, 0), |before| (before.exchanges, before.turns));
        let mut text = text.trim().to_owned();
        text.truncate(text.floor_char_boundary(MAX_COMPACTED));
        let last_text = if self.last_text().is_empty() { last_words } else { String::new() };
        self.compacted = Some(CompactedContext {
            text,
            exchanges: exchanges.saturating_add(count(part.exchanges)),
            turns: turns.saturating_add(count(count_turns(&summed_up))),
            files,
            last_text,
            tainted: false,
        });
    }

    /// Returns the files that the summary of this part must name.
    #[must_use]
    pub fn files_in_range(&self, part: CompactionRange) -> Vec<FileName> {
        let mut files: Vec<FileName> =
            self.compacted.iter().flat_map(|before| before.files.iter().cloned()).collect();
        for name in self.items.iter().take(part.items).flat_map(ConversationItem::file_names) {
            files.retain(|file| file != name);
            files.push(name.clone());
        }
        files.split_off(files.len().saturating_sub(MAX_COMPACTED_FILES))
    }
}

/// Counts the turns and rounds among the items.
#[must_use]
pub fn count_turns(items: &[ConversationItem]) -> usize {
    items.iter().filter(|item| item.is_turn_or_round()).count()
}

impl From<Turn> for ConversationItem {
    fn from(turn: Turn) -> Self {
        Self::Turn(Arc::new(turn))
    }
}

impl ConversationItem {
    /// Returns true for a turn or a round. Every other item belongs to the turn or round before.
    #[must_use]
    pub fn is_turn_or_round(&self) -> bool {
        matches!(self, Self::Turn(_) | Self::Round { .. })
    }

    /// Returns the files that the item names.
    fn file_names(&self) -> Vec<&FileName> {
        match self {
            Self::Turn(turn) => {
                turn.calls.iter().flat_map(|(_, outcome)| outcome.file_names()).collect()
            }
            Self::Round { reports, .. } => {
                reports.iter().flat_map(|report| &report.files).collect()
            }
            _ => Vec::new(),
        }
    }
}
