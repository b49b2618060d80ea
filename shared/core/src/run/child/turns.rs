//! Turns of a child that join the conversation of its run, if the settings keep the child's tool calls.

use serde_json::Value;

use crate::conversation::{Conversation, ConversationItem, MAX_REPORT, Turn};
use crate::error_code::ErrorCode;
use crate::id::Path;
use crate::input::ChildEnded;
use crate::tool::{ToolArguments, ToolCall, ToolOutput, ToolResult};
use djinn_text::truncate::truncate_text;

/// Maximum bytes of a child's turns in its run's conversation. The child's journal holds the whole turns.
const MAX_JOINED_TURNS: usize = 32 * 1024;

/// Maximum bytes of one text among a call's arguments.
pub(in crate::run) const MAX_ARGUMENT: usize = 500;

/// Returns the newest turns of a child with tool calls, cut short, oldest first.
pub(in crate::run) fn select_turns(conversation: &Conversation) -> Vec<Turn> {
    let turns = conversation.items.iter().rev().filter_map(|item| match item {
        ConversationItem::Turn(turn) if !turn.calls.is_empty() => Some(shorten_turn(turn)),
        _ => None,
    });
    let mut remaining_bytes = MAX_JOINED_TURNS;
    let fits = |turn: &Turn| {
        let bytes = serde_json::to_vec(turn).map_or(usize::MAX, |json| json.len());
        let fits = bytes <= remaining_bytes;
        remaining_bytes = remaining_bytes.saturating_sub(bytes);
        fits
    };
    let mut turns: Vec<Turn> = turns.take_while(fits).collect();
    turns.reverse();
    turns
}

impl ChildEnded {
    /// Returns the child's turns for its run's conversation, with ids that are unique there.
    pub(in crate::run) fn turns_in_parent(&self) -> Vec<Turn> {
        let way = Path::to(self.report.child.clone());
        self.turns.iter().map(|turn| scope_turn(turn.clone(), &way)).collect()
    }

    /// Returns true if the child used up its budget, so that another attempt would only use more.
    pub(in crate::run) fn is_out_of_budget(&self) -> bool {
        self.report.failure.as_ref().is_some_and(|failure| {
            matches!(
                failure.code,
                ErrorCode::StepsUsedUp
                    | ErrorCode::ToolCallsUsedUp
                    | ErrorCode::TokensUsedUp
                    | ErrorCode::MoneyUsedUp
                    | ErrorCode::BudgetUsedUp
                    | ErrorCode::TimeUsedUp
            )
        })
    }
}

fn scope_turn(turn: Turn, way: &Path) -> Turn {
    let calls = turn.calls.into_iter().map(|(call, outcome)| {
        let id = call.id.clone().below(way);
        (ToolCall { id, ..call }, outcome)
    });
    Turn { message: turn.message.clone().below(way), calls: calls.collect(), ..turn }
}

fn shorten_turn(turn: &Turn) -> Turn {
    let calls =
        turn.calls.iter().map(|(call, outcome)| (shorten_call(call), shorten_result(outcome)));
    Turn {
        message: turn.message.clone(),
        text: truncate_text(&turn.text, MAX_REPORT),
        // Reasoning is only useful to the model that wrote it.
        reasoning: None,
        calls: calls.collect(),
    }
}

fn shorten_call(call: &ToolCall) -> ToolCall {
    let arguments = match &call.arguments {
        ToolArguments::Parsed(arguments) => ToolArguments::Parsed(
            arguments.iter().map(|(name, value)| (name.clone(), shorten_value(value))).collect(),
        ),
        ToolArguments::Malformed { raw, problem } => {
            ToolArguments::Malformed { raw: truncate_text(raw, MAX_ARGUMENT), problem: *problem }
        }
    };
    ToolCall { arguments, ..call.clone() }
}

fn shorten_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(truncate_text(text, MAX_ARGUMENT)),
        Value::Array(items) => items.iter().map(shorten_value).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), shorten_value(value)));
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn shorten_result(outcome: &ToolResult) -> ToolResult {
    match outcome {
        ToolResult::Done(observation) => ToolResult::Done(ToolOutput {
            text: truncate_text(&observation.text, MAX_REPORT),
            state: None,
            known_urls: Box::default(),
            ..observation.clone()
        }),
        ToolResult::Failed { reason, detail } => {
            ToolResult::Failed { reason: *reason, detail: truncate_text(detail, MAX_REPORT) }
        }
        ToolResult::PlanRefused { .. } => outcome.clone(),
    }
}
