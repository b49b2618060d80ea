//! What of a task's conversation joins that of its run, where its tool calls are to be kept there.

use serde_json::Value;

use crate::code::ErrorCode;
use crate::conversation::{Conversation, Item, Turn};
use crate::id::{CallId, MessageId, TaskId};
use crate::input::{MAX_REPORT, TaskEnded};
use crate::tool::{Arguments, Call, Observation, Outcome};

/// Bytes of a task's turns in its run's conversation; the whole stays in the task's journal.
const MAX_TURNS: usize = 32 * 1024;

/// Bytes of one text among a call's arguments.
pub(in crate::run) const MAX_ARGUMENT: usize = 500;

/// The newest turns of a task that called tools, cut short, oldest first.
pub(super) fn joining(conversation: &Conversation) -> Vec<Turn> {
    let turns = conversation.items.iter().rev().filter_map(|item| match item {
        Item::Turn(turn) if !turn.calls.is_empty() => Some(short(turn)),
        Item::Turn(_) | Item::Note(_) | Item::Said(_) | Item::Round { .. } => None,
    });
    let mut left = MAX_TURNS;
    let fits = |turn: &Turn| {
        let bytes = serde_json::to_vec(turn).map_or(usize::MAX, |json| json.len());
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    };
    let mut turns: Vec<Turn> = turns.take_while(fits).collect();
    turns.reverse();
    turns
}

impl TaskEnded {
    /// Its turns as they stand in its run's conversation, under ids of their own there.
    pub(in crate::run) fn joining(&self) -> Vec<Turn> {
        let task = &self.report.task;
        self.turns.iter().map(|turn| within(turn.clone(), task)).collect()
    }

    /// Whether it had used up what it may: another attempt would only use up more.
    pub(in crate::run) fn is_used_up(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| {
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

fn within(turn: Turn, task: &TaskId) -> Turn {
    let calls = turn.calls.into_iter().map(|(call, outcome)| {
        let id = CallId::within(&call.id, task);
        (Call { id, ..call }, outcome)
    });
    Turn { message: MessageId::within(&turn.message, task), calls: calls.collect(), ..turn }
}

fn short(turn: &Turn) -> Turn {
    let calls = turn.calls.iter().map(|(call, outcome)| (short_call(call), short_outcome(outcome)));
    Turn {
        message: turn.message.clone(),
        text: cut(&turn.text, MAX_REPORT),
        // What a model thought is of use to the model that thought it.
        reasoning: None,
        calls: calls.collect(),
    }
}

fn short_call(call: &Call) -> Call {
    let arguments = match &call.arguments {
        Arguments::Parsed(arguments) => Arguments::Parsed(
            arguments.iter().map(|(name, value)| (name.clone(), short_value(value))).collect(),
        ),
        Arguments::Malformed { raw, problem } => {
            Arguments::Malformed { raw: cut(raw, MAX_ARGUMENT), problem: *problem }
        }
    };
    Call { arguments, ..call.clone() }
}

fn short_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(text, MAX_ARGUMENT)),
        Value::Array(items) => items.iter().map(short_value).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), short_value(value)));
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn short_outcome(outcome: &Outcome) -> Outcome {
    match outcome {
        Outcome::Done(observation) => Outcome::Done(Observation {
            text: cut(&observation.text, MAX_REPORT),
            ..observation.clone()
        }),
        Outcome::Failed { reason, detail } => {
            Outcome::Failed { reason: *reason, detail: cut(detail, MAX_REPORT) }
        }
    }
}

/// The beginning of a text, at most this many bytes of it.
pub(in crate::run) fn cut(text: &str, bytes: usize) -> String {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default().to_owned()
}
