//! The spec and the budget share of a workflow's task.

use serde_json::Map;

use super::WorkflowRun;
use crate::agent::{ALL_TOOLS, TASK_ARGUMENT};
use crate::budget::{BudgetShare, split_places};
use crate::id::TaskId;
use crate::input::{ChildSpec, RunSpec};
use crate::plan::StepStatus;
use crate::run::child::ChildContext;
use crate::run::plan_solve::{Task, TaskStage};
use crate::settings::PlanSettings;

impl WorkflowRun {
    /// Returns the spec of a task that is due, with its share of the remaining budget. `None` for other tasks.
    pub(super) fn spec_of_task(&self, id: &TaskId, context: ChildContext<'_>) -> Option<RunSpec> {
        let task = self.find_task(id)?;
        let share = task.share()?;
        let settings = &context.spec.settings;
        let places = self.split_places(&settings.plan, context.spec.places());
        let tool_calls = settings.budget.tool_calls.min(share.tool_calls);
        let origin = self.origins.get(&task.step);
        let fixed = origin.and_then(|origin| Some((origin, self.fixed_step(origin)?)));
        let mut arguments = Map::new();
        if task.has_agent() {
            // The arguments are for the agent of the file.
            if let Some((origin, fixed)) = fixed.filter(|(_, fixed)| fixed.agent == task.agent) {
                arguments = self.render_arguments(fixed, origin.item.as_ref());
            }
            arguments.insert(TASK_ARGUMENT.to_owned(), task.description.clone().into());
        }
        // The deployment offers a step the agent that its file names.
        let tools = task.has_agent().then(|| vec![ALL_TOOLS.to_owned(), task.agent.clone()]);
        let child = ChildSpec {
            tools,
            needs_agent: task.has_agent(),
            current_round: fixed.map(|(_, fixed)| self.named_reports(fixed)).unwrap_or_default(),
            previous_failure: task.previous_attempt.failure.clone(),
            revision: task.previous_attempt.revision.clone(),
            ..context.child_spec(&task.child_id(), task.description.clone(), places)
        };
        let spec = context.into_spec(child, BudgetShare { tool_calls, ..share });
        Some(RunSpec { arguments, ..spec })
    }

    /// Gives every task that can begin its share of `remaining`, the remaining budget. The rest is split evenly
    /// between the steps that can run at once, with one part for later steps.
    pub(super) fn split_budget(
        &mut self,
        remaining: BudgetShare,
        settings: &PlanSettings,
        places: u32,
    ) {
        self.has_places = places > 0;
        let places = settings.max_parallel_tasks.min(places).max(1) as usize;
        let shares = self.tasks.iter().filter_map(Task::share);
        let holding = shares.clone().count();
        let mut free = shares.fold(remaining, BudgetShare::minus);
        let queued = self.tasks.iter().filter(|task| task.stage == TaskStage::Queued).count();
        let later = self.pending_step_count();
        let parts = (queued + later).min(places.saturating_sub(holding));
        let parts = parts + usize::from(queued + later > parts);
        let share =
            free.equal_part(u32::try_from(parts).unwrap_or(u32::MAX), settings.max_task_turns);
        let next = self.tasks.iter_mut().filter(|task| task.needs_slot()).take(places);
        for task in next.filter(|task| task.stage == TaskStage::Queued) {
            if free.is_used_up() {
                return;
            }
            task.stage = TaskStage::Running(share);
            free = free.minus(share);
        }
    }

    /// Returns the maximum number of tasks at work at the same time, and the places of each task for runs below.
    fn split_places(&self, settings: &PlanSettings, places: u32) -> (u32, u32) {
        let tasks = self.tasks.len() + self.pending_step_count();
        let task_count = u32::try_from(tasks).unwrap_or(u32::MAX).min(settings.max_parallel_tasks);
        split_places(places, task_count)
    }

    fn pending_step_count(&self) -> usize {
        let steps = self.plan.iter().flat_map(|plan| plan.steps());
        steps.filter(|step| step.status == StepStatus::NotStarted).count()
    }
}
