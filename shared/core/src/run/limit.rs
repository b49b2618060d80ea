//! What a run has left, and what happens when it is used up.
//!
//! A run sums up what there is, in the time that is kept for that; a task leaves that to its run. What
//! a task may use up is its share of what its run has left: see [`PlanSolve::allocate_shares`].

use super::child::truncate_text;
use super::plan_solve::{Task, TaskStage};
use super::{MAX_HOPS, Phase, PlanSolve, Run, SummaryCall};
use crate::budget::{Budget, BudgetShare, Usage, format_dollars};
use crate::effect::{Effect, Limit};
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::plan::{Plan, StepStatus};
use crate::settings::{Mode, PlanSettings};

/// Bytes of the name of a tool as a model wrote it, in a sentence for users.
const MAX_TOOL_NAME: usize = 128;

impl Run {
    /// What it may use up, its tasks included: its budget, and what people gave it besides.
    #[must_use]
    pub fn budget(&self) -> Budget {
        let settings = &self.spec.settings;
        let (steps, tool_calls) = match (&self.spec.child, settings.mode) {
            // Each of its tasks counts its own calls.
            (None, Mode::PlanSolve) => (settings.plan.max_run_turns, u32::MAX),
            (Some(_), _) | (None, Mode::React) => {
                (settings.budget.steps, settings.budget.tool_calls)
            }
        };
        let more = self.human_requests.top_ups.granted;
        let money = settings.budget.micro_usd;
        Budget {
            steps,
            tool_calls,
            tokens: settings.budget.tokens.saturating_add(more.tokens),
            micro_usd: money.map(|money| money.saturating_add(more.micro_usd)),
            ..settings.budget
        }
    }

    /// When its wall-time budget is used up, Unix milliseconds.
    #[must_use]
    pub fn wall_time_deadline_ms(&self) -> i64 {
        let own = self.started_at_ms.saturating_add(to_signed_ms(self.budget().wall_ms));
        let run = self.spec.child.as_ref().and_then(|task| task.deadline_ms);
        // What people take their time for is not the run's.
        run.map_or(own, |run| own.min(run)).saturating_add(self.human_requests.paused_ms())
    }

    /// When its work ends at the latest, Unix milliseconds: the rest is for the summary.
    fn work_deadline_ms(&self) -> i64 {
        self.wall_time_deadline_ms().saturating_sub(to_signed_ms(self.budget().summary_ms()))
    }

    /// When the work of its tasks ends: their outcomes are to be heard before its own does.
    pub(super) fn children_deadline_ms(&self) -> i64 {
        self.work_deadline_ms().saturating_sub(to_signed_ms(self.budget().summary_ms() / 8))
    }

    /// The next moment that limits it, Unix milliseconds. `None` for an ended run.
    #[must_use]
    pub fn next_limit(&self) -> Option<(Limit, i64)> {
        let limit = self.current_limit()?;
        // While it waits for people, no time passes.
        Some(if self.human_requests.is_paused() { (limit.0, i64::MAX) } else { limit })
    }

    fn current_limit(&self) -> Option<(Limit, i64)> {
        match &self.phase {
            Phase::Ended(_) => None,
            Phase::Reacting(_) | Phase::PlanSolving(_) if !self.is_child() => {
                Some((Limit::WorkTime, self.work_deadline_ms()))
            }
            Phase::Reacting(_) | Phase::PlanSolving(_) | Phase::Summarizing(_) => {
                Some((Limit::WallTime, self.wall_time_deadline_ms()))
            }
        }
    }

    /// How many calls its agent's next reply may make.
    pub(super) fn max_calls_of_next_reply(&self) -> u32 {
        let left = self.budget().tool_calls.saturating_sub(self.spending.tool_calls);
        left.min(self.spec.settings.max_tool_calls_per_turn)
    }

    /// Why the work ends with a turn, if it does: calls of a tool that only repeat themselves, or a
    /// budget that is used up.
    pub(super) fn work_end_reason(&self, repeated: Option<String>) -> Option<Failure> {
        let repeats = |tool: String| {
            Failure::new(ErrorCode::RepeatedCalls, truncate_text(&tool, MAX_TOOL_NAME))
        };
        repeated.map(repeats).or_else(|| self.budget_failure())
    }

    /// What of its budget is used up, if anything is.
    pub(super) fn budget_failure(&self) -> Option<Failure> {
        let budget = self.budget();
        if self.spending.steps >= budget.steps {
            Some(Failure::new(ErrorCode::StepsUsedUp, budget.steps.to_string()))
        } else if self.spending.tool_calls >= budget.tool_calls {
            Some(Failure::new(ErrorCode::ToolCallsUsedUp, budget.tool_calls.to_string()))
        } else if self.spending.tokens() >= budget.tokens {
            Some(Failure::new(ErrorCode::TokensUsedUp, budget.tokens.to_string()))
        } else {
            let money = budget.micro_usd.filter(|money| self.spending.usage.micro_usd >= *money)?;
            Some(Failure::new(ErrorCode::MoneyUsedUp, format_dollars(money)))
        }
    }

    /// Charges the model calls that died with their driver, at what they are taken to have cost.
    pub(super) fn charge_lost_calls(&mut self, estimate: &Usage) {
        let died = |owed: &Effect| matches!(owed, Effect::CallModel(call) if !call.waits);
        let calls = self.due().into_iter().filter(died).count();
        self.spending.add_lost_calls(u32::try_from(calls).unwrap_or(u32::MAX), estimate);
    }

    /// Gives every task that can begin its share of what is left.
    pub(super) fn allocate_shares(&mut self) {
        let Budget { steps, tokens, micro_usd, .. } = self.budget();
        let spent = BudgetShare {
            steps: self.spending.steps,
            tokens: self.spending.tokens(),
            micro_usd: Some(self.spending.usage.micro_usd),
        };
        let left = BudgetShare { steps, tokens, micro_usd }.minus(spent);
        if let Phase::PlanSolving(solving) = &mut self.phase {
            solving.allocate_shares(left, &self.spec.settings.plan);
        }
    }

    /// A limit was reached. `None` if the run is past it.
    pub(super) fn on_limit_reached(
        &mut self,
        limit: Limit,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let seconds = self.spec.settings.budget.wall_ms / 1000;
        let time_used_up = Failure::new(ErrorCode::TimeUsedUp, seconds.to_string());
        match limit {
            Limit::WorkTime if matches!(self.phase, Phase::Summarizing(_)) => None,
            Limit::WorkTime => {
                let mut events: Vec<_> =
                    self.reset_open_message(&time_used_up).into_iter().collect();
                events.extend(self.break_off(time_used_up, at_ms));
                Some(events)
            }
            Limit::WallTime => {
                Some(self.fail_run(self.break_off_reason().unwrap_or(time_used_up), at_ms))
            }
            Limit::Hops => {
                let hops = Failure::new(ErrorCode::HopLimit, MAX_HOPS.to_string());
                Some(self.fail_run(hops, at_ms))
            }
        }
    }

    /// Why the summary is all there will be, if there is a reason.
    fn break_off_reason(&self) -> Option<Failure> {
        match &self.phase {
            Phase::Summarizing(SummaryCall { failure: because, .. }) => because.clone(),
            Phase::Reacting(_) | Phase::PlanSolving(_) | Phase::Ended(_) => None,
        }
    }

    /// What has been written of the open message will not be completed.
    fn reset_open_message(&mut self, failure: &Failure) -> Option<(String, Event)> {
        if self.compaction_range().is_some() {
            return None;
        }
        let agent = match &mut self.phase {
            // Nobody is shown what sums up older turns, and the turn after it has not begun.
            _ if self.compaction.due_call().is_some() => None,
            Phase::Reacting(agent) => Some(agent),
            Phase::PlanSolving(solving) => solving.active_planner(),
            Phase::Summarizing(_) | Phase::Ended(_) => None,
        };
        let (message, attempts) = agent?.open_message()?;
        let id = format!("{message}.reset{}", attempts.failures + 1);
        let (attempt, failure) = (attempts.next_number(), failure.clone());
        Some((id, Event::MessageReset { message, attempt, failure }))
    }
}

impl PlanSolve {
    /// Gives every task that can begin its share of `left`, which is what is left of the budget. What
    /// others hold stays theirs until they end. The rest is split evenly between the steps that
    /// there is a place for at once, and one part is kept for the planner and for what comes later.
    pub(super) fn allocate_shares(&mut self, left: BudgetShare, settings: &PlanSettings) {
        let places = settings.max_parallel_tasks.max(1) as usize;
        let held = self.tasks.iter().filter_map(Task::share);
        let holding = held.clone().count();
        let mut free = held.fold(left, BudgetShare::minus);
        let waiting = self.tasks.iter().filter(|task| task.stage == TaskStage::Queued).count();
        let waiting = waiting + self.pending_step_count();
        let parts = waiting.min(places.saturating_sub(holding)) + 1;
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        let share = free.equal_part(parts, settings.max_task_turns);
        let wanting = self.tasks.iter_mut().filter(|task| task.needs_slot()).take(places);
        for task in wanting.filter(|task| task.stage == TaskStage::Queued) {
            if free.is_used_up() {
                return;
            }
            task.stage = TaskStage::Running(share);
            free = free.minus(share);
        }
    }

    /// How many tasks may be at work at the same time.
    pub(super) fn concurrent_tasks(&self, settings: &PlanSettings) -> u32 {
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

fn to_signed_ms(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
