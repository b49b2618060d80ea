//! Whether a run has read text that anybody may have written, and what it may ask for all the same.

use std::collections::BTreeSet;

use djinn_text::urls::find_urls;

use super::PLAN_FILE;
use crate::conversation::{Conversation, ConversationItem, Exchange};
use crate::file::ProductFile;
use crate::input::{ModelReplied, RunSpec};
use crate::tool::{ToolArguments, ToolResult};

/// Whether a run begins with what others have read, and with what they left: in the names and
/// descriptions of files that it did not write, in a question of the session that somebody else asked
/// and its answer, or in an answer that came of such text.
pub(super) fn is_tainted_at_start(spec: &RunSpec) -> bool {
    let is_of_others = |earlier: &Exchange| earlier.tainted || !earlier.is_asked_by(&spec.user);
    match &spec.child {
        // Its run knows what it is told.
        Some(child) => child.tainted,
        None => {
            spec.history.iter().any(is_of_others) || spec.files.iter().any(is_described_by_others)
        }
    }
}

/// Whether a list of files holds words about this one that others may have chosen: all but those of the
/// plan's file.
fn is_described_by_others(file: &ProductFile) -> bool {
    file.name.as_str() != PLAN_FILE || !file.description.is_empty()
}

/// The URLs which a reply's calls ask for and that stand whole in the user's words or in a tool's result: whoever
/// is asked for one learns nothing from it of what else the run has read.
pub(super) fn known_urls(
    replied: &ModelReplied,
    spec: &RunSpec,
    conversation: &Conversation,
) -> BTreeSet<String> {
    let requested = replied.reply.calls.iter().filter_map(|call| {
        let tool = replied.offered.iter().find(|tool| tool.name == call.tool)?;
        let ToolArguments::Parsed(arguments) = &call.arguments else { return None };
        tool.policy.requested_url(arguments)
    });
    let is_known = |url: &&str| read_texts(spec, conversation).any(|text| names_url(text, url));
    requested.filter(is_known).map(str::to_owned).collect()
}

/// What a run was told that no model of its own wrote.
fn read_texts<'a>(
    spec: &'a RunSpec,
    conversation: &'a Conversation,
) -> impl Iterator<Item = &'a str> {
    let asked = spec.history.iter().filter(|earlier| earlier.is_asked_by(&spec.user));
    let asked = asked.map(|earlier| &earlier.question).chain([&spec.question]);
    let read = conversation.items.iter().flat_map(|item| match item {
        ConversationItem::UserMessage(text) => vec![text],
        ConversationItem::Turn(turn) => {
            let results = turn.calls.iter().filter_map(|(_, result)| match result {
                ToolResult::Done(output) => Some(&output.text),
                ToolResult::Failed { .. } | ToolResult::PlanRefused { .. } => None,
            });
            results.collect()
        }
        ConversationItem::Nudge(_)
        | ConversationItem::PlanEdited(_)
        | ConversationItem::Round { .. } => Vec::new(),
    });
    asked.chain(read).map(String::as_str)
}

fn names_url(text: &str, url: &str) -> bool {
    text.contains(url) && find_urls(text).any(|(_, found)| found == url)
}
