//! What a run has left, and what happens when it is used up.
//!
//! A run sums up what there is, in the time that is kept for that; a task leaves that to its run. What
//! a task may use up is its share of what its run has left: see [`PlanSolve::hand_out`].

use super::plan_solve::{Stage, Task};
use super::task::cut;
use super::{MAX_HOPS, Phase, PlanSolve, Run, Summarizing};
use crate::budget::{Budget, Share, Usage, dollars};
use crate::code::{ErrorCode, Failure};
use crate::effect::{Effect, Limit};
use crate::entry::Event;
use crate::plan::{Plan, StepStatus};
use crate::settings::{Mode, PlanSettings};

/// Bytes of the name of a tool as a model wrote it, in a sentence for users.
const MAX_TOOL_NAME: usize = 128;

impl Run {
    /// What it may use up, its tasks included: its budget, and what people gave it besides.
    #[must_use]
    pub fn budget(&self) -> Budget {
        let settings = &self.asked.settings;
        let (steps, tool_calls) = match (&self.asked.task, settings.mode) {
            // Each of its tasks counts its own calls.
            (None, Mode::PlanSolve) => (settings.plan.run_steps, u32::MAX),
            (Some(_), _) | (None, Mode::React) => {
                (settings.budget.steps, settings.budget.tool_calls)
            }
        };
        let more = self.asking.topped_up.more;
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
    pub fn wall_time_ends_at_ms(&self) -> i64 {
        let own = self.started_at_ms.saturating_add(milliseconds(self.budget().wall_ms));
        let run = self.asked.task.as_ref().and_then(|task| task.ends_at_ms);
        // What people take their time for is not the run's.
        run.map_or(own, |run| own.min(run)).saturating_add(self.asking.paused_ms())
    }

    /// When its work ends at the latest, Unix milliseconds: the rest is for the summary.
    fn work_ends_at_ms(&self) -> i64 {
        self.wall_time_ends_at_ms().saturating_sub(milliseconds(self.budget().summary_ms()))
    }

    /// When the work of its tasks ends: their outcomes are to be heard before its own does.
    pub(super) fn tasks_end_at_ms(&self) -> i64 {
        self.work_ends_at_ms().saturating_sub(milliseconds(self.budget().summary_ms() / 8))
    }

    /// The next moment that limits it, Unix milliseconds. `None` for an ended run.
    #[must_use]
    pub fn next_limit(&self) -> Option<(Limit, i64)> {
        let limit = self.limit()?;
        // While it waits for people, no time passes.
        Some(if self.asking.is_paused() { (limit.0, i64::MAX) } else { limit })
    }

    fn limit(&self) -> Option<(Limit, i64)> {
        match &self.phase {
            Phase::Ended(_) => None,
            Phase::Reacting(_) | Phase::PlanSolving(_) if !self.is_task() => {
                Some((Limit::WorkTime, self.work_ends_at_ms()))
            }
            Phase::Reacting(_) | Phase::PlanSolving(_) | Phase::Summarizing(_) => {
                Some((Limit::WallTime, self.wall_time_ends_at_ms()))
            }
        }
    }

    /// How many calls its agent's next reply may make.
    pub(super) fn calls_of_next_reply(&self) -> u32 {
        let left = self.budget().tool_calls.saturating_sub(self.spent.tool_calls);
        left.min(self.asked.settings.max_tool_calls_per_turn)
    }

    /// Why the work ends with a turn, if it does: calls of a tool that only repeat themselves, or a
    /// budget that is used up.
    pub(super) fn work_ended_by(&self, repeated: Option<String>) -> Option<Failure> {
        let repeats =
            |tool: String| Failure::new(ErrorCode::RepeatedCalls, cut(&tool, MAX_TOOL_NAME));
        repeated.map(repeats).or_else(|| self.used_up())
    }

    /// What of its budget is used up, if anything is.
    pub(super) fn used_up(&self) -> Option<Failure> {
        let budget = self.budget();
        if self.spent.steps >= budget.steps {
            Some(Failure::new(ErrorCode::StepsUsedUp, budget.steps.to_string()))
        } else if self.spent.tool_calls >= budget.tool_calls {
            Some(Failure::new(ErrorCode::ToolCallsUsedUp, budget.tool_calls.to_string()))
        } else if self.spent.tokens() >= budget.tokens {
            Some(Failure::new(ErrorCode::TokensUsedUp, budget.tokens.to_string()))
        } else {
            let money = budget.micro_usd.filter(|money| self.spent.usage.micro_usd >= *money)?;
            Some(Failure::new(ErrorCode::MoneyUsedUp, dollars(money)))
        }
    }

    /// Charges the model calls that died with their driver, at what they are taken to have cost.
    pub(super) fn charge_lost(&mut self, estimate: &Usage) {
        let died = |owed: &Effect| matches!(owed, Effect::CallModel(call) if !call.waits);
        let calls = self.due().into_iter().filter(died).count();
        self.spent.add_lost_calls(u32::try_from(calls).unwrap_or(u32::MAX), estimate);
    }

    /// Gives every task that can begin its share of what is left.
    pub(super) fn hand_out(&mut self) {
        let Budget { steps, tokens, micro_usd, .. } = self.budget();
        let spent = Share {
            steps: self.spent.steps,
            tokens: self.spent.tokens(),
            micro_usd: Some(self.spent.usage.micro_usd),
        };
        let left = Share { steps, tokens, micro_usd }.less(spent);
        if let Phase::PlanSolving(solving) = &mut self.phase {
            solving.hand_out(left, &self.asked.settings.plan);
        }
    }

    /// A limit was reached. `None` if the run is past it.
    pub(super) fn limit_reached(
        &mut self,
        limit: Limit,
        at_ms: i64,
    ) -> Option<Vec<(String, Event)>> {
        let seconds = self.asked.settings.budget.wall_ms / 1000;
        let time_used_up = Failure::new(ErrorCode::TimeUsedUp, seconds.to_string());
        match limit {
            Limit::WorkTime if matches!(self.phase, Phase::Summarizing(_)) => None,
            Limit::WorkTime => {
                let mut events: Vec<_> = self.void(&time_used_up).into_iter().collect();
                events.extend(self.break_off(time_used_up, at_ms));
                Some(events)
            }
            Limit::WallTime => Some(self.fail(self.because().unwrap_or(time_used_up), at_ms)),
            Limit::Hops => {
                let hops = Failure::new(ErrorCode::HopLimit, MAX_HOPS.to_string());
                Some(self.fail(hops, at_ms))
            }
        }
    }

    /// Why the summary is all there will be, if there is a reason.
    fn because(&self) -> Option<Failure> {
        match &self.phase {
            Phase::Summarizing(Summarizing { because, .. }) => because.clone(),
            Phase::Reacting(_) | Phase::PlanSolving(_) | Phase::Ended(_) => None,
        }
    }

    /// What has been written of the open message will not be completed.
    fn void(&mut self, failure: &Failure) -> Option<(String, Event)> {
        if self.compacting().is_some() {
            return None;
        }
        let agent = match &mut self.phase {
            // Nobody is shown what sums up older turns, and the turn after it has not begun.
            _ if self.compacting.due().is_some() => None,
            Phase::Reacting(agent) => Some(agent),
            Phase::PlanSolving(solving) => solving.planner(),
            Phase::Summarizing(_) | Phase::Ended(_) => None,
        };
        let (message, attempts) = agent?.writing()?;
        let id = format!("{message}.reset{}", attempts.failed + 1);
        let (attempt, failure) = (attempts.next(), failure.clone());
        Some((id, Event::ItemReset { message, attempt, failure }))
    }
}

impl PlanSolve {
    /// Gives every task that can begin its share of `left`, which is what is left of the budget. What
    /// others hold stays theirs until they end. The rest is split evenly between the steps that
    /// there is a place for at once, and one part is kept for the planner and for what comes later.
    pub(super) fn hand_out(&mut self, left: Share, settings: &PlanSettings) {
        let places = settings.max_tasks.max(1) as usize;
        let held = self.tasks.iter().filter_map(Task::share);
        let holding = held.clone().count();
        let mut free = held.fold(left, Share::less);
        let waiting = self.tasks.iter().filter(|task| task.stage == Stage::Waiting).count();
        let waiting = waiting + self.steps_to_come();
        let parts = waiting.min(places.saturating_sub(holding)) + 1;
        let parts = u32::try_from(parts).unwrap_or(u32::MAX);
        let share = free.part(parts, settings.task_steps);
        let wanting = self.tasks.iter_mut().filter(|task| task.wants_place()).take(places);
        for task in wanting.filter(|task| task.stage == Stage::Waiting) {
            if free.is_used_up() {
                return;
            }
            task.stage = Stage::AtWork(share);
            free = free.less(share);
        }
    }

    /// How many tasks may be at work at the same time.
    pub(super) fn at_once(&self, settings: &PlanSettings) -> u32 {
        let tasks = self.tasks.len() + self.steps_to_come();
        u32::try_from(tasks).unwrap_or(u32::MAX).min(settings.max_tasks).max(1)
    }

    fn steps_to_come(&self) -> usize {
        let to_come = |plan: &Plan| {
            plan.steps().iter().filter(|step| step.status == StepStatus::NotStarted).count()
        };
        self.plan.as_ref().map_or(0, to_come)
    }
}

fn milliseconds(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
