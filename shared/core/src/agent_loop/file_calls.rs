//! The calls that an agent's file asks for: some before its first turn, one with its answer.

use crate::agent::AgentSpec;
use crate::id::MessageId;
use crate::tool::{ToolCall, ToolResult};

/// Who asks for the calls of a turn.
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
    /// Who asks for the first calls of this agent's.
    pub(super) fn first(agent: Option<&AgentSpec>) -> Self {
        let has_before = agent.is_some_and(|agent| !agent.before.is_empty());
        if has_before { Self::FileBefore } else { Self::Model }
    }

    /// The message that is waited for in this turn, or whose calls are.
    pub(super) fn message(self, turn: u32) -> MessageId {
        match self {
            Self::FileBefore => MessageId::before(),
            Self::Model => MessageId::for_turn(turn),
            Self::FileAfter => MessageId::after(),
        }
    }
}

/// What came of the call with the answer: the text that stands for the answer, or why there is none. Nothing
/// where its tool says nothing: then the answer stays.
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
