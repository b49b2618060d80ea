//! What was said in a run: append-only, each tool call together with its outcome.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::error_code::Failure;
use crate::id::{ChildId, FileName, MessageId, StepId, TaskId, UserId};
use crate::language::Language;
use crate::plan::Plan;
use crate::tool::{ToolCall, ToolResult};
pub use djinn_calls::reply::Reasoning;

/// A question and its answer from an earlier run of the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The question as the user asked it.
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
    pub fn is_asked_by(&self, user: &UserId) -> bool {
        self.asker.as_ref().is_none_or(|asker| asker == user)
    }
}

/// One model reply and what came of its calls. A turn enters the conversation when its last call is
/// answered, so a call never stands without its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The id of the reply, by which its calls are named.
    pub message: MessageId,
    /// The text of the reply; empty where it only calls tools.
    pub text: String,
    /// The thoughts before it, if the model shows any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// Its calls in the order it made them, whatever order they were answered in.
    pub calls: Vec<(ToolCall, ToolResult)>,
}

/// Something the loop tells the model between two turns. Its words come from `prompts/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nudge {
    /// The reply was cut off at the output limit: go on.
    CutOff,
    /// The reply held neither text nor calls: say something.
    Empty,
    /// The planner made no plan: make one, or answer if none is needed.
    NoPlan,
    /// The answer has not the form that the agent's file names, as this says: give it in that form.
    BadAnswer(String),
    /// A call has brought the same result too often: do something else, or the work ends.
    Repeated,
}

/// Bytes of a child's text in its run's conversation; the whole stays in the child's journal.
pub const MAX_REPORT: usize = 4 * 1024;

/// What the planner and later tasks are told of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildReport {
    /// The id of the child, as in its [`crate::input::ChildSpec`].
    #[serde(alias = "task")]
    pub child: ChildId,
    /// The step as one line, `stage: details`.
    pub description: String,
    /// What came of it in its agent's words, at most [`MAX_REPORT`] bytes; of a failed child, what there
    /// was.
    pub text: String,
    /// Why it did not finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The names of its files.
    pub files: Vec<FileName>,
    /// Whether it did what it was to do.
    pub done: bool,
    /// Whether it was not carried out because a person did not want it: `text` is what they say of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// What a person says who changed the text; may be empty. `None`: it is the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_comment: Option<String>,
    /// Whether its agent was cut off before it had said all of the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// The URLs of the text that others wrote: its agent may have made up any other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_urls: Vec<String>,
}

impl ChildReport {
    /// The step that it tells of; `None` for an agent that was called.
    #[must_use]
    pub fn step_id(&self) -> Option<StepId> {
        self.child.task().map(TaskId::step_id)
    }

    /// What came of it, for a model or a person: of a failed child the sentence of its failure, and then
    /// what there was.
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
    /// A reply and what came of it.
    Turn(Turn),
    /// A word of the loop's.
    Nudge(Nudge),
    /// What the user said while the run was at work.
    UserMessage(String),
    /// A person changed the plan while the planner did not have the word.
    PlanEdited(Box<PlanChange>),
    /// What came of a round of tasks, in the plan's order, and the plan after it.
    Round {
        /// The reports of the round's tasks, in the plan's order.
        reports: Vec<ChildReport>,
        /// The plan as the round left it.
        plan: Plan,
    },
}

/// A plan before and after people changed it: its titles, steps, and what waits for what. How far steps
/// have come is no part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChange {
    /// The plan as the planner knew it.
    pub before: Plan,
    /// The plan as people want it.
    pub after: Plan,
    /// What they say of it; may be empty.
    pub comment: String,
}

/// What stands for the oldest part of a conversation since it was summed up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactedContext {
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
    pub last_text: String,
    /// True if an earlier run made it of text that anybody may have written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
}

/// Exchanges of its session that a run is shown as they were: of so many, the older half is summed up.
pub const MAX_HISTORY: usize = 20;

/// The summary of a session's oldest exchanges, which the session's next run begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMemory {
    /// The text and the files. No turn of the next run is part of it.
    pub compacted: CompactedContext,
    /// Exchanges that are newer than the summary and older than the one of the run that made it.
    pub newer_exchanges: u32,
}

/// Bytes of a text that sums up.
pub const MAX_COMPACTED: usize = 16 * 1024;

/// Files that are named with it.
const MAX_COMPACTED_FILES: usize = 100;

/// The oldest part of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompactionRange {
    /// So many of its questions and answers.
    pub exchanges: usize,
    /// So many of its items.
    pub items: usize,
}

/// What the run's model is shown beside its instructions, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// What was summed up; it stands before everything else.
    pub compacted: Option<CompactedContext>,
    /// The session's earlier questions and answers.
    pub history: Vec<Exchange>,
    /// The run's own question.
    pub question: String,
    /// Turns, nudges, messages and rounds since the question, oldest first.
    pub items: Vec<ConversationItem>,
}

impl Conversation {
    /// The text of the newest turn that said something.
    #[must_use]
    pub fn last_text(&self) -> &str {
        self.items
            .iter()
            .rev()
            .find_map(|item| match item {
                ConversationItem::Turn(turn) if !turn.text.trim().is_empty() => {
                    Some(turn.text.as_str())
                }
                ConversationItem::Turn(_)
                | ConversationItem::Nudge(_)
                | ConversationItem::UserMessage(_)
                | ConversationItem::PlanEdited(_)
                | ConversationItem::Round { .. } => None,
            })
            .or(self.compacted.as_ref().map(|compacted| compacted.last_text.as_str()))
            .unwrap_or_default()
    }

    /// What the agent said in its newest turn, if nothing followed it, with what was said before it was cut
    /// off. Empty, where that is blank.
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

    /// The newest reply if it is an answer by itself: it says something, calls nothing, and is not the end
    /// of a reply that was cut off.
    #[must_use]
    pub fn standalone_answer(&self) -> Option<&str> {
        let (last, before) = self.items.split_last()?;
        let ConversationItem::Turn(turn) = last else { return None };
        let goes_on = match before {
            [.., ConversationItem::Turn(begun), ConversationItem::Nudge(Nudge::CutOff)] => {
                !begun.text.trim().is_empty()
            }
            _ => false,
        };
        let is_answer = turn.calls.is_empty() && !turn.text.trim().is_empty() && !goes_on;
        is_answer.then_some(turn.text.as_str())
    }

    /// Replaces the oldest part by a text that sums it up, together with what was summed up before.
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
        let words = if self.last_text().is_empty() { last_words } else { String::new() };
        self.compacted = Some(CompactedContext {
            text,
            exchanges: exchanges.saturating_add(count(part.exchanges)),
            turns: turns.saturating_add(count(count_turns(&summed_up))),
            files,
            last_text: words,
            tainted: false,
        });
    }

    /// The files that a text is to name which sums up this part.
    #[must_use]
    pub fn files_in_range(&self, part: CompactionRange) -> Vec<FileName> {
        let mut files: Vec<FileName> =
            self.compacted.iter().flat_map(|before| before.files.iter().cloned()).collect();
        for name in self.items.iter().take(part.items).flat_map(ConversationItem::file_names) {
            files.retain(|known| known != name);
            files.push(name.clone());
        }
        files.split_off(files.len().saturating_sub(MAX_COMPACTED_FILES))
    }
}

/// How many turns and rounds there are among some items.
#[must_use]
pub fn count_turns(items: &[ConversationItem]) -> usize {
    items.iter().filter(|item| item.is_turn_or_round()).count()
}

impl ConversationItem {
    /// Whether it stands for itself; all others belong to the turn or round before them.
    #[must_use]
    pub fn is_turn_or_round(&self) -> bool {
        match self {
            Self::Turn(_) | Self::Round { .. } => true,
            Self::Nudge(_) | Self::UserMessage(_) | Self::PlanEdited(_) => false,
        }
    }

    /// The files that it tells of.
    fn file_names(&self) -> Vec<&FileName> {
        match self {
            Self::Turn(turn) => {
                turn.calls.iter().flat_map(|(_, outcome)| outcome.file_names()).collect()
            }
            Self::Round { reports, .. } => {
                reports.iter().flat_map(|report| &report.files).collect()
            }
            Self::Nudge(_) | Self::UserMessage(_) | Self::PlanEdited(_) => Vec::new(),
        }
    }
}
