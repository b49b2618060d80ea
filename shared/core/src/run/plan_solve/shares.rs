//! What the tasks of a plan may use up, of what their run has left.

use super::{PlanSolve, Task, TaskStage};
use crate::budget::BudgetShare;
use crate::plan::{Plan, StepStatus};
use crate::settings::PlanSettings;

impl PlanSolve {
    /// Gives every task that can begin its share of `left`, which is what is left of the budget. What
    /// others hold stays theirs until they end. The rest is split evenly between the steps that
    /// there is a place for at once, and one part is kept for the planner and for what comes later.
    pub(in crate::run) fn allocate_shares(&mut self, left: BudgetShare, settings: &PlanSettings) {
        let places = settings.max_parallel_tasks.max(1) as usize;
        let held = self.tasks.iter().filter_map(Task::share);
        let holding = held.clone().count();
        let mut free = held.fold(left, BudgetShare::minus);
        let queued = self.tasks.iter().filter(|task| task.stage == TaskStage::Queued).count();
        let queued = queued + self.pending_step_count();
        let parts = queued.min(places.saturating_sub(holding)) + 1;
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

    /// How many tasks may be at work at the same time.
    pub(in crate::run) fn concurrent_tasks(&self, settings: &PlanSettings) -> u32 {
        let tasks = self.tasks.len() + self.pending_step_count();
        u32::try_from(tasks).unwrap_or(u32::MAX).min(settings.max_parallel_tasks).max(1)
    }

    fn pending_step_count(&self) -> usize {
        let to_come = |plan: &Plan| {
            plan.steps().iter().filter(|step| step.status == StepStatus::NotStarted).count()
        };
        self.plan.as_ref().map_or(0, to_come)
    }
}
