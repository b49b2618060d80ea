//! Limits of a turn's calls.

use crate::id::MAX_DEPTH;

use crate::reply::RequestedCall;
use crate::tool::{
    ArgumentProblem, EffectClass, OfferedTool, ToolArguments, ToolFailure, ToolResult,
};

/// Maximum calls of a turn to agents. Further calls fail with `too_many`.
pub(crate) const MAX_AGENT_CALLS: u32 = 16;

/// The counted calls of a turn, and their limits.
#[derive(Debug)]
pub(crate) struct CallBounds {
    max_calls: u32,
    count: u32,
    agent_count: u32,
    /// The number of levels between the root of the tree and the run.
    depth: usize,
}

impl CallBounds {
    /// Creates limits for a turn of at most `max_calls` calls, `depth` levels below the root.
    #[must_use]
    pub(crate) fn new(max_calls: u32, depth: usize) -> Self {
        Self { max_calls, count: 0, agent_count: 0, depth }
    }

    /// Counts the next call. Returns its failure if the call must not be made.
    pub(crate) fn refuse_call(
        &mut self,
        request: &RequestedCall,
        offered: &[OfferedTool],
    ) -> Option<ToolResult> {
        let failure = |reason, detail| Some(ToolResult::Failed { reason, detail });
        self.count += 1;
        let Some(tool) = offered.iter().find(|tool| tool.name == request.tool) else {
            let names: Vec<_> = offered.iter().map(|tool| tool.name.as_str()).collect();
            return failure(ToolFailure::UnknownTool, names.join(", "));
        };
        if self.count > self.max_calls {
            return failure(ToolFailure::TooMany, self.max_calls.to_string());
        }
        if tool.effect == EffectClass::Agent {
            self.agent_count += 1;
            if self.depth >= MAX_DEPTH {
                return failure(ToolFailure::TooDeep, MAX_DEPTH.to_string());
            }
            if self.agent_count > MAX_AGENT_CALLS {
                return failure(ToolFailure::TooMany, MAX_AGENT_CALLS.to_string());
            }
        }
        match &request.arguments {
            ToolArguments::Parsed(_) => None,
            ToolArguments::Malformed { raw, problem: ArgumentProblem::Refused } => {
                failure(ToolFailure::BadArguments, raw.clone())
            }
            ToolArguments::Malformed { .. } => failure(ToolFailure::BadArguments, String::new()),
        }
    }
}
