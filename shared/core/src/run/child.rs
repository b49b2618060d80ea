//! Children and their specs.
//!
//! A run one level down works on a step of a plan or on an agent call. The child is the same state machine,
//! and owes its result to the run above.

mod evidence;
mod turns;

pub(super) use evidence::select_evidence;
pub(super) use turns::{MAX_ARGUMENT, select_turns};

use serde_json::Map;

use super::conversation_size::tokens_of_history;
use crate::agent_loop::{AgentLoop, describe_call};
use crate::budget::{Budget, BudgetShare, MAX_PLACES};
use crate::conversation::{CompactedContext, Conversation};
use crate::file::ProductFile;
use crate::id::ChildId;
use crate::input::{ChildSpec, RunSpec};
use crate::tool::ToolArguments;

/// The context that a child takes over from the run above.
pub(super) struct ChildContext<'a> {
    /// The spec of the run above.
    pub(super) spec: &'a RunSpec,
    /// The conversation of the run above.
    pub(super) conversation: &'a Conversation,
    /// The files that the child can read.
    pub(super) files: Vec<ProductFile>,
    /// The time at which the run above needs the result at the latest, Unix milliseconds.
    pub(super) deadline_ms: i64,
    /// True if the run above has read text that anybody may have written.
    pub(super) tainted: bool,
}

impl ChildContext<'_> {
    /// Returns the spec of an agent call's run. `None` if the call is not due.
    pub(super) fn spec_of_call(self, child: &ChildId, caller: &AgentLoop) -> Option<RunSpec> {
        let (call, share, _) = caller.find_agent_call(child)?;
        let ToolArguments::Parsed(arguments) = &call.arguments else { return None };
        let at_once = u32::try_from(caller.running_agents().count()).unwrap_or(u32::MAX);
        let model = caller.child_model(child);
        let child = self.child_spec(child, describe_call(call), (at_once, share.places));
        let child = ChildSpec { model, ..child };
        Some(RunSpec { arguments: arguments.clone(), ..self.into_spec(child, share.budget) })
    }

    /// Returns the common parts of every child's spec. The pair holds the maximum runs of the child's level
    /// at work, and the child's places for runs below.
    pub(super) fn child_spec(
        &self,
        child: &ChildId,
        description: String,
        (at_once, places): (u32, u32),
    ) -> ChildSpec {
        let above = self.spec.child.as_ref().map_or(1, |own| own.concurrent_children.max(1));
        ChildSpec {
            above: self.spec.path(),
            concurrent_children: at_once.saturating_mul(above).min(MAX_PLACES),
            places,
            keeps_answer: true,
            deadline_ms: Some(self.deadline_ms),
            tainted: self.tainted,
            ..ChildSpec::new(child.clone(), description)
        }
    }

    /// Returns the spec of a child with this share: the caller's spec, current files and knowledge. The child
    /// has no agent and no arguments yet.
    pub(super) fn into_spec(self, child: ChildSpec, share: BudgetShare) -> RunSpec {
        let mut spec = self.spec.clone();
        let BudgetShare { steps, tool_calls, tokens, micro_usd } = share;
        let own = &spec.settings.budget;
        spec.settings.budget = Budget { steps, tool_calls, tokens, micro_usd, ..*own };
        // Children reuse the caller's summary.
        if let Some(compacted) = &self.conversation.compacted {
            let last_text = String::new();
            spec.earlier = Some(CompactedContext { last_text, ..compacted.clone() });
            spec.history = self.conversation.history.clone();
            spec.history_tokens = tokens_of_history(&spec.history);
        }
        // Clients received this at the root's start.
        spec.warnings = Vec::new();
        spec.files = self.files;
        spec.agent = None;
        spec.arguments = Map::new();
        spec.first_arguments = None;
        spec.review = None;
        spec.child = Some(child);
        spec
    }
}
