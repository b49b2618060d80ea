//! Short results that a child's answer is based on, for an agent that judges the answer.

use crate::conversation::{ConversationItem, Turn};
use crate::plan::PLANNING_TOOL;
use crate::tool::{ToolCall, ToolResult};
use crate::verdict::Evidence;
use djinn_text::truncate::truncate_text;

/// Maximum results of a child.
const MAX_RESULTS: usize = 12;

/// Maximum bytes of a result.
const MAX_TEXT: usize = 500;

/// Maximum bytes of the name of a result.
const MAX_SOURCE: usize = 200;

/// Returns the newest results of tools, agents and steps, oldest first.
pub(in crate::run) fn select_evidence(items: &[ConversationItem]) -> Vec<Evidence> {
    let mut evidence: Vec<Evidence> = items.iter().flat_map(evidence_of).collect();
    evidence.split_off(evidence.len().saturating_sub(MAX_RESULTS))
}

fn evidence_of(item: &ConversationItem) -> Vec<Evidence> {
    match item {
        ConversationItem::Turn(turn) => evidence_of_turn(turn),
        ConversationItem::Round { reports, .. } => {
            let done = reports.iter().filter(|report| report.done);
            done.map(|report| shorten(&report.description, &report.text)).collect()
        }
        ConversationItem::Nudge(_)
        | ConversationItem::UserMessage(_)
        | ConversationItem::PlanEdited(_)
        | ConversationItem::Review(_) => Vec::new(),
    }
}

fn evidence_of_turn(turn: &Turn) -> Vec<Evidence> {
    let evidence = |(call, result): &(ToolCall, ToolResult)| match result {
        ToolResult::Done(output) if call.tool != PLANNING_TOOL => {
            Some(shorten(&call.tool, &output.text))
        }
        _ => None,
    };
    turn.calls.iter().filter_map(evidence).collect()
}

fn shorten(source: &str, text: &str) -> Evidence {
    Evidence {
        source: truncate_text(source, MAX_SOURCE),
        text: truncate_text(text.trim(), MAX_TEXT),
    }
}
