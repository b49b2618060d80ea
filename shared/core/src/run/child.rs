//! Children and their specs.
//!
//! A run one level down works on a step of a plan or on an agent call. The child is the same state machine,
//! and owes its result to the run above.

mod turns;

pub(super) use turns::{MAX_ARGUMENT, select_turns};

use serde_json::Map;

use super::PlanSolve;
use super::conversation_size::tokens_of_history;
use crate::agent::TASK_ARGUMENT;
use crate::agent_loop::{AgentLoop, describe_call};
use crate::budget::MAX_PLACES;
use crate::conversation::{ChildReport, CompactedContext, Conversation, ConversationItem};
use crate::file::ProductFile;
use crate::id::{ChildId, TaskId};
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
        let child = ChildSpec {
            arguments: arguments.clone(),
            ..self.child_spec(child, describe_call(call), (at_once, share.places))
        };
        let mut spec = self.base_spec(child);
        let budget = &mut spec.settings.budget;
        (budget.steps, budget.tool_calls) = (share.budget.steps, share.budget.tool_calls);
        (budget.tokens, budget.micro_usd) = (share.budget.tokens, share.budget.micro_usd);
        Some(spec)
    }

    /// Returns the spec of a task that is due, with its share of the remaining budget. `None` for other
    /// tasks.
    pub(super) fn spec_of_task(self, task: &TaskId, solving: &PlanSolve) -> Option<RunSpec> {
        let (description, share, before) = solving.find_running(task)?;
        let places = solving.split_places(&self.spec.settings.plan, self.spec.places());
        let mut arguments = Map::new();
        if solving.agent_of(task).is_some() {
            arguments.insert(TASK_ARGUMENT.to_owned(), description.into());
        }
        let child = ChildSpec {
            tools: self.spec.agent().map(|agent| agent.tools.clone()),
            arguments,
            earlier_rounds: list_reports(self.conversation),
            current_round: solving.reports_before(task),
            previous_failure: before.failure.clone(),
            revision: before.revision.clone(),
            ..self.child_spec(&task.clone().into(), description.to_owned(), places)
        };
        let mut spec = self.base_spec(child);
        let budget = &mut spec.settings.budget;
        budget.steps = share.steps;
        budget.tool_calls = budget.tool_calls.min(share.tool_calls);
        (budget.tokens, budget.micro_usd) = (share.tokens, share.micro_usd);
        Some(spec)
    }

    /// Returns the common parts of every child's spec. The pair holds the maximum runs of the child's level
    /// at work, and the child's places for runs below.
    fn child_spec(
        &self,
        child: &ChildId,
        description: String,
        (at_once, places): (u32, u32),
    ) -> ChildSpec {
        let above = self.spec.child.as_ref().map_or(1, |own| own.concurrent_children.max(1));
        ChildSpec {
            child: child.clone(),
            above: self.spec.path(),
            description,
            agent: None,
            tools: None,
            arguments: Map::new(),
            earlier_rounds: Vec::new(),
            current_round: Vec::new(),
            concurrent_children: at_once.saturating_mul(above).min(MAX_PLACES),
            places,
            keeps_answer: true,
            deadline_ms: Some(self.deadline_ms),
            previous_failure: None,
            revision: None,
            tainted: self.tainted,
        }
    }

    /// Returns the caller's spec with the caller's current files and knowledge.
    fn base_spec(self, child: ChildSpec) -> RunSpec {
        let mut spec = self.spec.clone();
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
        spec.child = Some(child);
        spec
    }
}

/// Returns the reports of all rounds that have ended, oldest first.
fn list_reports(conversation: &Conversation) -> Vec<ChildReport> {
    let reports = conversation.items.iter().flat_map(|item| match item {
        ConversationItem::Round { reports, .. } => reports.as_slice(),
        ConversationItem::Turn(_)
        | ConversationItem::Nudge(_)
        | ConversationItem::UserMessage(_)
        | ConversationItem::PlanEdited(_) => &[],
    });
    reports.cloned().collect()
}
