//! A part of a conversation as a record to be read: what was said, called and answered.

use djinn_core::conversation::{Exchange, Item};
use djinn_core::id::UserId;
use djinn_core::input::TaskReport;
use djinn_core::plan::PLANNING_TOOL;
use djinn_core::settings::Language;
use djinn_core::tool::Arguments;
use serde::Serialize;
use serde_json::json;

use super::outcome::{Frames, outcome_text};
use crate::prompt::Prompts;

/// One entry of a record.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    /// Who said it, or what it is.
    pub(super) role: String,
    /// What was said; framed before it is rendered.
    pub(super) text: String,
}

impl Entry {
    pub(super) fn new(role: impl Into<String>, text: &str) -> Self {
        Self { role: role.into(), text: text.trim().to_owned() }
    }

    /// As it stands in a prompt: its text is data.
    pub(super) fn framed(self, prompts: &Prompts) -> Self {
        Self { text: prompts.framed(&self.text, usize::MAX), ..self }
    }
}

/// Earlier questions and their answers, to one who may not have asked all of them.
pub(super) fn of_history(history: &[Exchange], user: &UserId) -> impl Iterator<Item = Entry> {
    history.iter().flat_map(|exchange| {
        let asker = if exchange.is_of(user) { "user" } else { "another user" };
        [Entry::new(asker, &exchange.question), Entry::new("assistant", &exchange.answer)]
    })
}

/// Turns and rounds, oldest first. With `calls`, the arguments of each call stand before its result.
pub(super) fn of_items(
    prompts: &Prompts,
    language: Language,
    items: &[Item],
    calls: bool,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for item in items {
        let turn = match item {
            Item::Turn(turn) => turn,
            Item::Round { reports, .. } => {
                let entry = |report: &TaskReport| Entry::new(report.words.as_str(), &report.text);
                entries.extend(reports.iter().map(entry));
                continue;
            }
            Item::Note(_) => continue,
            Item::Said(said) => {
                entries.push(Entry::new("user", said));
                continue;
            }
        };
        if !turn.text.trim().is_empty() {
            entries.push(Entry::new("assistant", &turn.text));
        }
        // To the answer the plan is nothing: what came of its steps is.
        let told = turn.calls.iter().filter(|(call, _)| calls || call.tool != PLANNING_TOOL);
        for (call, outcome) in told {
            if calls {
                let arguments = match &call.arguments {
                    Arguments::Parsed(arguments) => json!(arguments).to_string(),
                    Arguments::Malformed { raw, .. } => raw.clone(),
                };
                entries.push(Entry::new(format!("call {}", call.tool), &arguments));
            }
            let text = outcome_text(prompts, language, call, outcome, Frames::Around);
            entries.push(Entry::new(format!("tool {}", call.tool), &text));
        }
    }
    entries
}

/// What a record takes up in a prompt, headings included.
pub(super) fn characters(entries: &[Entry]) -> u64 {
    entries
        .iter()
        .map(|entry| (entry.role.chars().count() + entry.text.chars().count() + 8) as u64)
        .sum()
}
