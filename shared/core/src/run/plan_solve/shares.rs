//! What the tasks of a plan are given: their words, their agents, and what they may use up, of what their run has left.

use super::{PlanSolve, PreviousAttempt, Task, TaskStage};
use crate::budget::{BudgetShare, split_places};
use crate::id::TaskId;
use crate::plan::{Plan, StepStatus};
use crate::settings::PlanSettings;

impl PlanSolve {
    /// The agent that is to work on a task, if its step names one.
    pub(in crate::run) fn agent_of(&self, task: &TaskId) -> Option<&str> {
        let task = self.tasks.iter().find(|known| known.id == *task)?;
        Some(task.agent.as_str()).filter(|agent| !agent.is_empty())
    }

    /// What a task is to do, what it may use up, and what became of the attempt before.
    pub(in crate::run) fn find_running(
        &self,
        task: &TaskId,
    ) -> Option<(&str, BudgetShare, &PreviousAttempt)> {
        let task = self.tasks.iter().find(|known| known.id == *task)?;
        Some((task.description.as_str(), task.share()?, &task.previous_attempt))
    }

    /// Gives every task that can begin its share of `left`, which is what is left of the budget. What
    /// others hold stays theirs until they end. The rest is split evenly between the steps that
    /// there is a place for at once, and one part is kept for the planner and for what comes later.
    pub(in crate::run) fn allocate_shares(
        &mut self,
        left: BudgetShare,
        settings: &PlanSettings,
        places: u32,
    ) {
        self.has_places = places > 0;
        let places = settings.max_parallel_tasks.min(places).max(1) as usize;
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

    /// How many tasks may be at work at the same time, and how many places each has for runs below it.
    pub(in crate::run) fn split_places(&self, settings: &PlanSettings, places: u32) -> (u32, u32) {
        let tasks = self.tasks.len() + self.pending_step_count();
        let wanted = u32::try_from(tasks).unwrap_or(u32::MAX).min(settings.max_parallel_tasks);
        split_places(places, wanted)
    }

    fn pending_step_count(&self) -> usize {
        let to_come = |plan: &Plan| {
            plan.steps().iter().filter(|step| step.status == StepStatus::NotStarted).count()
        };
        self.plan.as_ref().map_or(0, to_come)
    }
}
