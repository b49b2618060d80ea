//! Estimated sizes of conversations without a counted size.

use crate::conversation::{CompactionRange, Conversation, ConversationItem, Exchange, Turn};
use crate::plan::Plan;
use crate::tool::{ResultView, ToolArguments, ToolOutput, ToolResult};
use djinn_text::tokens::IMAGE_BYTES;

/// Estimates the tokens of the oldest part of a conversation.
pub(super) fn tokens_of_range(conversation: &Conversation, part: CompactionRange) -> u64 {
    let exchanges = conversation.history.get(..part.exchanges).unwrap_or_default();
    let items = conversation.items.get(..part.items).unwrap_or_default();
    tokens_of_history(exchanges) + items.iter().map(tokens_of_item).sum::<u64>()
}

/// Estimates the tokens of earlier questions and answers.
pub(super) fn tokens_of_history(history: &[Exchange]) -> u64 {
    history.iter().map(tokens_of_exchange).sum()
}

/// Estimates the tokens of a text with this length in bytes.
pub(super) fn estimate_tokens(bytes: usize) -> u64 {
    djinn_text::tokens::estimate_tokens(bytes as u64)
}

/// Estimates the tokens of a question and its answer.
pub(super) fn tokens_of_exchange(exchange: &Exchange) -> u64 {
    estimate_tokens(exchange.question.len() + exchange.answer.len())
}

/// Estimates the tokens of a conversation item.
pub(super) fn tokens_of_item(item: &ConversationItem) -> u64 {
    estimate_tokens(match item {
        ConversationItem::Turn(turn) => bytes_of_turn(turn),
        ConversationItem::Nudge(_) => 0,
        ConversationItem::UserMessage(text) => text.len(),
        ConversationItem::Review(note) => {
            let texts = note.answer.iter().chain(&note.problems).chain(&note.missing);
            texts.map(String::len).sum()
        }
        // A sentence with the names of steps.
        ConversationItem::PlanEdited(change) => {
            let steps = change.before.steps().len() + change.after.steps().len();
            200 + 12 * steps + change.comment.len()
        }
        ConversationItem::Round { reports, plan } => {
            let reports = reports.iter().map(|report| report.description.len() + report.text.len());
            reports.sum::<usize>() + bytes_of_plan(plan)
        }
    })
}

fn bytes_of_plan(plan: &Plan) -> usize {
    plan.steps().iter().map(|step| step.stage.len() + step.details.len() + step.note.len()).sum()
}

fn bytes_of_turn(turn: &Turn) -> usize {
    let calls = turn.calls.iter().map(|(call, outcome)| {
        let arguments = match &call.arguments {
            ToolArguments::Parsed(arguments) => {
                serde_json::to_string(arguments).map_or(0, |json| json.len())
            }
            ToolArguments::Malformed { .. } => 0,
        };
        let text = match outcome {
            ToolResult::Done(ToolOutput { view: ResultView::Plan { plan }, .. }) => {
                bytes_of_plan(plan)
            }
            ToolResult::Done(output) => output.text.len() + output.images.len() * IMAGE_BYTES,
            ToolResult::Failed { detail, .. } => detail.len(),
            ToolResult::PlanRefused { error } => error.to_string().len(),
        };
        call.tool.len() + arguments + text
    });
    let reasoning = turn.reasoning.as_ref().map_or(0, |reasoning| reasoning.text.len());
    turn.text.len() + reasoning + calls.sum::<usize>()
}
