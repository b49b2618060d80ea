//! A part of a conversation as a transcript: messages, calls and results.

use djinn_core::conversation::{ChildReport, ConversationItem, Exchange};
use djinn_core::id::UserId;
use djinn_core::language::Language;
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::tool::ToolArguments;
use serde::Serialize;
use serde_json::json;

use super::plan_change::plan_change_text;
use super::review::review_text;
use super::tool_result::{Framing, tool_result_text};
use crate::prompt::Prompts;

/// One entry of a transcript.
#[derive(Debug, Serialize)]
pub(super) struct TranscriptEntry {
    /// The author or the kind of the text.
    pub(super) role: String,
    /// The text, framed before rendering.
    pub(super) text: String,
}

impl TranscriptEntry {
    pub(super) fn new(role: impl Into<String>, text: &str) -> Self {
        Self { role: role.into(), text: text.trim().to_owned() }
    }

    /// Frames the text for a prompt, where it is data.
    pub(super) fn into_framed(self, prompts: &Prompts) -> Self {
        Self { text: prompts.frame_text(&self.text, usize::MAX), ..self }
    }
}

/// Returns the entries of earlier exchanges, and marks questions of users other than `user`.
pub(super) fn history_entries(
    history: &[Exchange],
    user: &UserId,
) -> impl Iterator<Item = TranscriptEntry> {
    history.iter().flat_map(|exchange| {
        let asker = if exchange.is_asked_by(user) { "user" } else { "another user" };
        [
            TranscriptEntry::new(asker, &exchange.question),
            TranscriptEntry::new("assistant", &exchange.answer),
        ]
    })
}

/// Returns the entries of turns and rounds, oldest first. With `calls`, each call's arguments come before its
/// result.
pub(super) fn item_entries(
    prompts: &Prompts,
    language: Language,
    items: &[ConversationItem],
    calls: bool,
) -> Vec<TranscriptEntry> {
    let mut entries = Vec::new();
    for item in items {
        let turn = match item {
            ConversationItem::Turn(turn) => turn,
            ConversationItem::Round { reports, .. } => {
                let entry = |report: &ChildReport| {
                    TranscriptEntry::new(report.description.as_str(), &report.full_text(language))
                };
                entries.extend(reports.iter().map(entry));
                continue;
            }
            ConversationItem::Nudge(_) => continue,
            ConversationItem::PlanEdited(change) => {
                let text = plan_change_text(prompts, language, change);
                entries.extend(text.map(|text| TranscriptEntry::new("user", &text)));
                continue;
            }
            // A summary has its own place for the newest review.
            ConversationItem::Review(_) if !calls => continue,
            ConversationItem::Review(note) => {
                let text = review_text(prompts, language, note, Framing::Enclosing);
                entries.push(TranscriptEntry::new("review", &text));
                continue;
            }
            ConversationItem::UserMessage(message) => {
                entries.push(TranscriptEntry::new("user", message));
                continue;
            }
        };
        if !turn.text.trim().is_empty() {
            entries.push(TranscriptEntry::new("assistant", &turn.text));
        }
        // The answer does not need the plan, only the results of its steps.
        let visible_calls =
            turn.calls.iter().filter(|(call, _)| calls || call.tool != PLANNING_TOOL);
        for (call, outcome) in visible_calls {
            if calls {
                let arguments = match &call.arguments {
                    ToolArguments::Parsed(arguments) => json!(arguments).to_string(),
                    ToolArguments::Malformed { raw, .. } => raw.clone(),
                };
                entries.push(TranscriptEntry::new(format!("call {}", call.tool), &arguments));
            }
            let text = tool_result_text(prompts, language, call, outcome, Framing::Enclosing);
            entries.push(TranscriptEntry::new(format!("tool {}", call.tool), &text));
        }
    }
    entries
}

/// Returns the characters of a transcript in a prompt, headings included.
pub(super) fn count_characters(entries: &[TranscriptEntry]) -> u64 {
    entries
        .iter()
        .map(|entry| (entry.role.chars().count() + entry.text.chars().count() + 8) as u64)
        .sum()
}
