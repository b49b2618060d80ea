//! The budget share and the places of each task.

use super::{PlanSolve, Task, TaskStage};
use crate::budget::{BudgetShare, split_places};
use crate::plan::{Plan, StepStatus};
use crate::settings::PlanSettings;

impl PlanSolve {
    /// Gives every task that can begin its share of `remaining`, the remaining budget. Other tasks keep
    /// their shares until they end. The rest is split evenly between the steps that can run at once. One part is
    /// reserved for the planner and for later steps.
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
        let queue_len = self.tasks.iter().filter(|task| task.stage == TaskStage::Queued).count();
        let queue_len = queue_len + self.pending_step_count();
        let parts = queue_len.min(places.saturating_sub(holding)) + 1;
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        let share = free.equal_part(parts, settings.max_task_turns);
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
    pub(super) fn split_places(&self, settings: &PlanSettings, places: u32) -> (u32, u32) {
        let tasks = self.tasks.len() + self.pending_step_count();
        let task_count = u32::try_from(tasks).unwrap_or(u32::MAX).min(settings.max_parallel_tasks);
        split_places(places, task_count)
    }

    fn pending_step_count(&self) -> usize {
        let to_come = |plan: &Plan| {
            plan.steps().iter().filter(|step| step.status == StepStatus::NotStarted).count()
        };
        self.plan.as_ref().map_or(0, to_come)
    }
}
