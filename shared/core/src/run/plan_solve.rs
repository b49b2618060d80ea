//! Plan-Solve: the planner plans, ready steps run as tasks, and the planner reads their reports.

mod child;
mod planning;
mod review;
mod shares;
mod stage;
mod turn;
mod work;

use std::collections::BTreeMap;

pub(super) use child::MAX_INDIRECT_REPORT;
use review::step_review;
use stage::{PreviousAttempt, Task, TaskStage};

use super::progress::Next;
use crate::agent_loop::{AgentLoop, TurnUpdate};
use crate::conversation::{ChildReport, ConversationItem, Turn};
use crate::entry::Event;
use crate::id::{EntryId, EntryName, StepId, TaskId};
use crate::input::{ChildEnded, RunSpec};
use crate::plan::{Plan, Step, StepStatus};
use crate::settings::{PlanSettings, Role, RunSettings};

/// The planner and the tasks at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlanSolve {
    planner: AgentLoop,
    /// The number of planner turns, without the turns of its tasks.
    planner_turns: u32,
    plan: Option<Plan>,
    /// Tasks whose steps have not ended, in the order of their starts. Tasks at work stay at work.
    tasks: Vec<Task>,
    /// The number of attempts at each step.
    attempts: BTreeMap<StepId, u32>,
    /// The reports of this round's tasks.
    reports: BTreeMap<StepId, ChildReport>,
    /// The turns that also join the conversation at the end of the round.
    child_turns: BTreeMap<StepId, Vec<Turn>>,
    rounds: u32,
    nudges: u32,
    /// True if the planner created an invalid plan.
    has_rejected_plan: bool,
    /// True if the tasks may have their own invocations.
    has_places: bool,
}

/// The result of a step.
struct StepResult {
    report: ChildReport,
    /// The turns that also join the conversation.
    turns: Vec<Turn>,
}

impl StepResult {
    fn of(ended: &ChildEnded) -> Self {
        Self { report: ended.report.clone(), turns: ended.turns_in_parent() }
    }
}

impl PlanSolve {
    pub(super) fn new(spec: &RunSpec) -> Self {
        Self {
            planner: AgentLoop::new(Role::Planner, spec.path().depth()),
            planner_turns: 0,
            plan: None,
            tasks: Vec::new(),
            attempts: BTreeMap::new(),
            reports: BTreeMap::new(),
            child_turns: BTreeMap::new(),
            rounds: 0,
            nudges: 0,
            has_rejected_plan: false,
            has_places: true,
        }
    }

    /// Ends the work on a step: dependent steps start, or the round is over.
    fn finish_step(
        &mut self,
        step: StepId,
        done: StepResult,
        settings: &RunSettings,
        update: &mut TurnUpdate,
    ) -> Next {
        let StepResult { report, turns } = done;
        let (status, note) = if report.done {
            (StepStatus::Completed, String::new())
        } else {
            (StepStatus::Blocked, report.full_text(settings.language).into_owned())
        };
        if let Some(plan) = &mut self.plan {
            // The step exists, because an update keeps steps at work.
            let _ = plan.set_status(step, status, &note);
        }
        let event = Event::StepChanged { step, status, note };
        update.events.push((EntryId::of_child(report.child.clone(), EntryName::Step), event));
        self.reports.insert(step, report);
        self.child_turns.insert(step, turns);
        self.start_ready_steps(settings, update);
        if self.tasks.is_empty() { self.end_round(&settings.plan, update) } else { Next::Continue }
    }

    /// Ends a round after the last task, if no step is ready.
    fn end_round(&mut self, settings: &PlanSettings, update: &mut TurnUpdate) -> Next {
        self.rounds += 1;
        update.items.extend(self.take_round_items());
        let Some(plan) = &self.plan else { return Next::Continue };
        if settings.ends_when_complete && plan.is_complete() {
            Next::Summarize
        } else if self.rounds >= settings.max_rounds {
            Next::RoundsExhausted
        } else {
            Next::Continue
        }
    }

    /// Takes this round's items for the conversation, in the plan's order.
    fn take_round_items(&mut self) -> Vec<ConversationItem> {
        let Some(plan) = &self.plan else { return Vec::new() };
        let reports = std::mem::take(&mut self.reports);
        let mut turns = std::mem::take(&mut self.child_turns);
        let ids = || plan.steps().iter().map(|step| step.id);
        let turns = ids().filter_map(|id| turns.remove(&id)).flatten();
        let mut items: Vec<ConversationItem> = turns.map(ConversationItem::Turn).collect();
        let reports = ids().filter_map(|id| reports.get(&id)).cloned().collect();
        items.push(ConversationItem::Round { reports, plan: plan.clone() });
        items
    }

    /// Starts every ready step, or requests approval for the step.
    fn start_ready_steps(&mut self, settings: &RunSettings, update: &mut TurnUpdate) {
        let ready: Vec<Step> = self
            .plan
            .iter()
            .flat_map(|plan| plan.ready_steps().cloned().collect::<Vec<_>>())
            .collect();
        for step in &ready {
            if let Some(plan) = &mut self.plan {
                let _ = plan.set_status(step.id, StepStatus::InProgress, "");
            }
            let before = PreviousAttempt::default();
            let mut task = self.next_attempt(step.id, &step.label(), &step.agent, before);
            task.stage = TaskStage::for_step(step, &settings.human);
            match task.stage {
                TaskStage::AwaitingApproval => update.requests.extend(step_review(&task)),
                TaskStage::Queued | TaskStage::Running(_) | TaskStage::InReview(_) => {
                    update.events.push(task.start_event());
                }
            }
            self.tasks.push(task);
        }
    }

    /// Creates the next attempt at a step.
    fn next_attempt(
        &mut self,
        step: StepId,
        description: &str,
        agent: &str,
        before: PreviousAttempt,
    ) -> Task {
        let attempts = self.attempts.entry(step).or_default();
        *attempts += 1;
        let id = TaskId::of(step.0, *attempts);
        let description = description.to_owned();
        Task {
            id,
            step,
            description,
            agent: agent.to_owned(),
            previous_attempt: before,
            crashes: 0,
            stage: TaskStage::Queued,
        }
    }
}
