//! The budget share and the places of each task of a plan.

use super::{Task, TaskStage};
use crate::budget::{BudgetShare, split_places};
use crate::plan::{Plan, StepStatus};
use crate::settings::PlanSettings;

/// Gives every task that can begin its share of `remaining`, the remaining budget. Other tasks keep
/// their shares until they end. The rest is split evenly between the steps that can run at once. One part is
/// reserved for later steps, and always for a planner.
pub(in crate::run) fn split_budget(
    tasks: &mut [Task],
    plan: Option<&Plan>,
    remaining: BudgetShare,
    settings: &PlanSettings,
    places: u32,
    has_planner: bool,
) {
    let places = settings.max_parallel_tasks.min(places).max(1) as usize;
    let shares = tasks.iter().filter_map(Task::share);
    let holding = shares.clone().count();
    let mut free = shares.fold(remaining, BudgetShare::minus);
    let queue_len = tasks.iter().filter(|task| task.stage == TaskStage::Queued).count();
    let queue_len = queue_len + pending_step_count(plan);
    let parts = queue_len.min(places.saturating_sub(holding));
    let parts = parts + usize::from(has_planner || queue_len > parts);
    let parts = u32::try_from(parts).unwrap_or(u32::MAX);
    let share = free.equal_part(parts, settings.max_task_turns);
    let next = tasks.iter_mut().filter(|task| task.needs_slot()).take(places);
    for task in next.filter(|task| task.stage == TaskStage::Queued) {
        if free.is_used_up() {
            return;
        }
        task.stage = TaskStage::Running(share);
        free = free.minus(share);
    }
}

/// Returns the maximum number of tasks at work at the same time, and the places of each task for runs below.
pub(in crate::run) fn split_task_places(
    tasks: &[Task],
    plan: Option<&Plan>,
    settings: &PlanSettings,
    places: u32,
) -> (u32, u32) {
    let count = u32::try_from(tasks.len() + pending_step_count(plan)).unwrap_or(u32::MAX);
    split_places(places, count.min(settings.max_parallel_tasks))
}

fn pending_step_count(plan: Option<&Plan>) -> usize {
    let to_come = |plan: &Plan| {
        plan.steps().iter().filter(|step| step.status == StepStatus::NotStarted).count()
    };
    plan.map_or(0, to_come)
}
