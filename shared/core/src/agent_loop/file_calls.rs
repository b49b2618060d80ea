//! Calls that an agent's file defines: calls before the first turn, and a call with the answer.

use super::AgentPosition;
use crate::agent::AgentSpec;
use crate::id::MessageId;
use crate::tool::{ToolCall, ToolResult};

/// The origin of a turn's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// The agent's file, before the first turn.
    FileBefore,
    /// The model that works as the agent.
    Model,
    /// The agent's file, with the answer.
    FileAfter,
}

impl Caller {
    /// Returns the origin of this agent's first calls.
    pub(super) fn first(agent: Option<&AgentSpec>) -> Self {
        let has_before = agent.is_some_and(|agent| !agent.before.is_empty());
        if has_before { Self::FileBefore } else { Self::Model }
    }

    /// Returns the id of the message in this turn, or of the calls' message, of the agent at this position.
    pub(super) fn message(self, turn: u32, position: AgentPosition) -> MessageId {
        match self {
            Self::FileBefore if position.hand_overs > 0 => {
                MessageId::before_turn(position.first_turn)
            }
            Self::FileBefore => MessageId::before(),
            Self::Model => MessageId::for_turn(turn),
            Self::FileAfter => MessageId::after(),
        }
    }
}

/// Reads the result of the call with the answer: the text that replaces the answer, or the problem. Returns
/// neither if the tool's text is blank; the answer then stays.
pub(super) fn read_result_after(
    calls: &[(ToolCall, ToolResult)],
) -> (Option<String>, Option<String>) {
    match calls.first() {
        Some((_, ToolResult::Done(output))) => {
            (Some(output.text.clone()).filter(|text| !text.trim().is_empty()), None)
        }
        Some((call, ToolResult::Failed { reason, detail })) => {
            (None, Some(format!("{} {}: {detail}", call.tool, reason.as_str())))
        }
        Some((_, ToolResult::PlanRefused { .. })) | None => (None, None),
    }
}
