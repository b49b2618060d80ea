//! Tasks: what each is started with.
//!
//! A task is a run of its own, one level down: the same machine without a summary, whose outcome is
//! owed to the run that asked for it.

mod turns;

pub(super) use turns::{MAX_ARGUMENT, select_turns};

use super::PlanSolve;
use super::conversation_size::tokens_of_history;
use crate::conversation::{ChildReport, CompactedContext, Conversation, ConversationItem};
use crate::file::ProductFile;
use crate::id::TaskId;
use crate::input::{ChildSpec, RunSpec};

/// What a task takes over from its run.
pub(super) struct ChildContext<'a> {
    /// The spec of the run that the task is one of.
    pub(super) spec: &'a RunSpec,
    /// The conversation of that run so far.
    pub(super) conversation: &'a Conversation,
    /// The files that the task can read.
    pub(super) files: Vec<ProductFile>,
    /// When the run needs the outcome at the latest, Unix milliseconds.
    pub(super) deadline_ms: i64,
    /// Whether the run has read text that anybody may have written.
    pub(super) tainted: bool,
}

impl ChildContext<'_> {
    /// What a task that is owed is started with: its share of what is left. `None` for any other.
    pub(super) fn spec_of(self, task: &TaskId, solving: &PlanSolve) -> Option<RunSpec> {
        let (description, share, before) = solving.find_running(task)?;
        let mut spec = self.spec.clone();
        // What the run summed up, its tasks need not sum up again.
        if let Some(compacted) = &self.conversation.compacted {
            let last_text = String::new();
            spec.earlier = Some(CompactedContext { last_text, ..compacted.clone() });
            spec.history = self.conversation.history.clone();
            spec.history_tokens = tokens_of_history(&spec.history);
        }
        spec.files = self.files;
        spec.settings.budget.steps = share.steps;
        spec.settings.budget.tokens = share.tokens;
        spec.settings.budget.micro_usd = share.micro_usd;
        spec.child = Some(ChildSpec {
            task: task.clone(),
            description: description.to_owned(),
            earlier_rounds: list_reports(self.conversation),
            current_round: solving.reports_before(task),
            concurrent_tasks: solving.concurrent_tasks(&spec.settings.plan),
            deadline_ms: Some(self.deadline_ms),
            previous_failure: before.failure.clone(),
            revision: before.revision.clone(),
            tainted: self.tainted,
        });
        Some(spec)
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
