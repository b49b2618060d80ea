//! Limits of a turn's calls.

use crate::agent::MAX_HAND_OVERS;
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
    /// The number of hand-overs of the run so far.
    hand_overs: usize,
    /// True if an earlier call of the turn hands the run over.
    is_handing_over: bool,
}

impl CallBounds {
    /// Creates limits for a turn of at most `max_calls` calls, `depth` levels below the root, in a run with
    /// this number of earlier hand-overs.
    #[must_use]
    pub(crate) fn new(max_calls: u32, depth: usize, hand_overs: usize) -> Self {
        Self { max_calls, count: 0, agent_count: 0, depth, hand_overs, is_handing_over: false }
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
        if tool.policy.hands_over {
            if self.hand_overs >= MAX_HAND_OVERS {
                return failure(ToolFailure::TooDeep, MAX_HAND_OVERS.to_string());
            }
            // A run has one agent at a time.
            if std::mem::replace(&mut self.is_handing_over, true) {
                return failure(ToolFailure::TooMany, "1".to_owned());
            }
        } else if tool.effect == EffectClass::Agent {
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
