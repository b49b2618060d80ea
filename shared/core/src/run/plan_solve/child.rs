//! The spec of a task's run.

use serde_json::Map;

use super::{ChildContext, PlanSolve, Task, split_task_places};
use crate::agent::{ALL_TOOLS, TASK_ARGUMENT};
use crate::budget::BudgetShare;
use crate::conversation::{ChildReport, Conversation, ConversationItem};
use crate::id::TaskId;
use crate::input::{ChildSpec, RunSpec};
use djinn_text::truncate::truncate_text;

/// Maximum reports of indirect dependencies that a task receives, and the bytes of each report.
const MAX_INDIRECT_REPORTS: usize = 50;
pub(in crate::run) const MAX_INDIRECT_REPORT: usize = 500;

impl PlanSolve {
    /// Returns the task with this id.
    pub(super) fn find_task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == *id)
    }

    /// Returns the spec of a task that is due, with its share of the remaining budget. `None` for other
    /// tasks.
    pub(super) fn spec_of_task(&self, id: &TaskId, context: ChildContext<'_>) -> Option<RunSpec> {
        let task = self.find_task(id)?;
        let share = task.share()?;
        let settings = &context.spec.settings;
        let places = split_task_places(
            &self.tasks,
            self.plan.as_ref(),
            &settings.plan,
            context.spec.places(),
        );
        let tool_calls = settings.budget.tool_calls.min(share.tool_calls);
        let mut arguments = Map::new();
        if task.has_agent() {
            arguments.insert(TASK_ARGUMENT.to_owned(), task.description.clone().into());
        }
        let tools = context.spec.agent().map(|agent| agent.tools.clone());
        let tools = tools.filter(|tools| *tools != [ALL_TOOLS]);
        let child = ChildSpec {
            tools,
            earlier_rounds: list_reports(context.conversation),
            current_round: self.reports_before(id),
            previous_failure: task.previous_attempt.failure.clone(),
            revision: task.previous_attempt.revision.clone(),
            ..context.child_spec(&task.child_id(), task.description.clone(), places)
        };
        let spec = context.into_spec(child, BudgetShare { tool_calls, ..share });
        Some(RunSpec { arguments, ..spec })
    }

    /// Returns the reports that a task's step depends on: direct dependencies whole, and the beginning of the
    /// newest indirect dependencies. Each step must not store the whole of a long chain.
    fn reports_before(&self, task: &TaskId) -> Vec<ChildReport> {
        let Some(plan) = &self.plan else { return Vec::new() };
        let step = task.step_id();
        let behind = plan.transitive_dependencies(step);
        let depends_on = plan.step(step).map(|step| &step.depends_on);
        let mut room = MAX_INDIRECT_REPORTS;
        let mut reports = Vec::new();
        for (id, report) in self.reports.iter().rev().filter(|(id, _)| behind.contains(id)) {
            if depends_on.is_some_and(|on| on.contains(id)) {
                reports.push(report.clone());
            } else if room > 0 {
                room -= 1;
                reports.push(ChildReport {
                    text: truncate_text(&report.text, MAX_INDIRECT_REPORT),
                    ..report.clone()
                });
            }
        }
        reports.reverse();
        reports
    }
}

/// Returns the reports of all rounds that have ended, oldest first.
fn list_reports(conversation: &Conversation) -> Vec<ChildReport> {
    let reports = conversation.items.iter().flat_map(|item| match item {
        ConversationItem::Round { reports, .. } => reports.as_slice(),
        ConversationItem::Turn(_)
        | ConversationItem::Nudge(_)
        | ConversationItem::Review(_)
        | ConversationItem::UserMessage(_)
        | ConversationItem::PlanEdited(_) => &[],
    });
    reports.cloned().collect()
}
