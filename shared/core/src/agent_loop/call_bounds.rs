//! What bounds the calls of a turn.

use crate::agent::MAX_AGENT_CALLS;
use crate::id::MAX_DEPTH;
use crate::input::RequestedCall;
use crate::tool::{
    ArgumentProblem, EffectClass, OfferedTool, ToolArguments, ToolFailure, ToolResult,
};

/// The calls of a turn so far, and how many there may be.
pub(super) struct CallBounds {
    most: u32,
    count: u32,
    agent_count: u32,
    /// How many levels its run is below the root of its tree.
    depth: usize,
}

impl CallBounds {
    pub(super) fn new(most: u32, depth: usize) -> Self {
        Self { most, count: 0, agent_count: 0, depth }
    }

    /// Why the next call is answered without being made, if it is.
    pub(super) fn refuse_call(
        &mut self,
        asked: &RequestedCall,
        offered: &[OfferedTool],
    ) -> Option<ToolResult> {
        let failed = |reason, detail| Some(ToolResult::Failed { reason, detail });
        self.count += 1;
        let Some(tool) = offered.iter().find(|tool| tool.name == asked.tool) else {
            let names: Vec<_> = offered.iter().map(|tool| tool.name.as_str()).collect();
            return failed(ToolFailure::UnknownTool, names.join(", "));
        };
        if self.count > self.most {
            return failed(ToolFailure::TooMany, self.most.to_string());
        }
        if tool.effect == EffectClass::Agent {
            self.agent_count += 1;
            if self.depth >= MAX_DEPTH {
                return failed(ToolFailure::TooDeep, MAX_DEPTH.to_string());
            }
            if self.agent_count > MAX_AGENT_CALLS {
                return failed(ToolFailure::TooMany, MAX_AGENT_CALLS.to_string());
            }
        }
        match &asked.arguments {
            ToolArguments::Parsed(_) => None,
            ToolArguments::Malformed { raw, problem: ArgumentProblem::Refused } => {
                failed(ToolFailure::BadArguments, raw.clone())
            }
            ToolArguments::Malformed { .. } => failed(ToolFailure::BadArguments, String::new()),
        }
    }
}
