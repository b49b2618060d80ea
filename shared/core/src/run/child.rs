//! Children: what each is started with.
//!
//! A step of a plan and a call to an agent are worked on by a run one level down: the same machine, whose
//! outcome is owed to the run above.

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

/// What a child takes over from the run above.
pub(super) struct ChildContext<'a> {
    /// The spec of that run.
    pub(super) spec: &'a RunSpec,
    /// Its conversation so far.
    pub(super) conversation: &'a Conversation,
    /// The files that the child can read.
    pub(super) files: Vec<ProductFile>,
    /// When it needs the outcome at the latest, Unix milliseconds.
    pub(super) deadline_ms: i64,
    /// Whether it has read text that anybody may have written.
    pub(super) tainted: bool,
}

impl ChildContext<'_> {
    /// What a call to an agent is started with. `None` for one that is not owed.
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

    /// What a task that is owed is started with: its share of what is left. `None` for any other.
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

    /// What every child is told. `places` are how many of its level may be at work at once, and how many
    /// below it.
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

    /// What its caller was asked, with the caller's files and what that knows by now.
    fn base_spec(self, child: ChildSpec) -> RunSpec {
        let mut spec = self.spec.clone();
        // What the caller summed up, its children need not sum up again.
        if let Some(compacted) = &self.conversation.compacted {
            let last_text = String::new();
            spec.earlier = Some(CompactedContext { last_text, ..compacted.clone() });
            spec.history = self.conversation.history.clone();
            spec.history_tokens = tokens_of_history(&spec.history);
        }
        // Clients were told at the root's start.
        spec.warnings = Vec::new();
        spec.files = self.files;
        spec.child = Some(child);
        spec
    }
}

/// The reports of all rounds that have ended, oldest first.
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
