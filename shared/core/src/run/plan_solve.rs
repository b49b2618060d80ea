//! Plan-Solve: the planner plans, ready steps run as tasks, and the planner reads their reports.

mod child;
mod planning;
mod review;
mod shares;
mod stage;
mod turn;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use child::MAX_INDIRECT_REPORT;
use planning::{is_plan_creation, run_plan_command};
pub(super) use review::{is_waiting_for, result_review, step_review};
pub(super) use shares::{split_budget, split_task_places};
pub(super) use stage::{PreviousAttempt, Task, TaskStage};

use super::child::ChildContext;
use super::progress::{Next, WorkUpdate};
use super::work::{AbandonedWork, Work};
use crate::agent_loop::{AgentLoop, AgentPosition, TurnUpdate};
use crate::budget::BudgetShare;
use crate::conversation::{ChildReport, ConversationItem, Turn};
use crate::crash::ActiveEffects;
use crate::effect::{ChildDispatch, Effect};
use crate::entry::Event;
use crate::error_code::{ErrorCode, Failure};
use crate::human::{HumanRequest, ResponseRecord, Subject};
use crate::id::{ChildId, EntryId, EntryName, StepId, TaskId};
use crate::input::{ChildEnded, ModelReplied, RunSpec};
use crate::plan::{Plan, Step, StepStatus};
use crate::settings::{PlanSettings, Role, RunSettings, SummaryPolicy};
use crate::status::RunStatus;
use crate::tool::ToolPolicy;

/// Maximum attempts at a step: a failed task is repeated once.
const MAX_TASK_ATTEMPTS: u32 = 2;

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

impl Work for PlanSolve {
    fn agent(&self) -> Option<&AgentLoop> {
        self.tasks.is_empty().then_some(&self.planner)
    }

    fn agent_mut(&mut self) -> Option<&mut AgentLoop> {
        self.tasks.is_empty().then_some(&mut self.planner)
    }

    /// Returns the due effects: the tasks or, without tasks, the planner's next turn.
    fn due(&self) -> Vec<Effect> {
        if self.tasks.is_empty() {
            return self.planner.due();
        }
        let alone = self.tasks.len() == 1 || !self.has_places;
        let at_work = self.tasks.iter().filter(|task| task.share().is_some());
        at_work
            .map(|task| {
                let child = task.child_id();
                let crashes = task.crashes;
                Effect::RunChild(ChildDispatch { child, alone, crashes, waits: false })
            })
            .collect()
    }

    /// A planner always sums up its results, unless it answered without a plan.
    fn summary_policy(&self, _spec: &RunSpec) -> Option<SummaryPolicy> {
        Some(SummaryPolicy::WhenNeeded)
    }

    fn is_tainted(&self) -> bool {
        self.planner.is_tainted()
    }

    /// Returns the reason for a human request: the planner's text, or the title of its plan.
    fn request_reasoning(&self) -> &str {
        match &self.plan {
            Some(plan) if !self.tasks.is_empty() => &plan.title,
            Some(_) | None => self.planner.open_turn_text(),
        }
    }

    fn turns_failure(&self, settings: &RunSettings) -> Option<Failure> {
        let turns = settings.budget.steps;
        let is_used_up = self.tasks.is_empty() && self.planner_turns >= turns;
        is_used_up.then(|| Failure::new(ErrorCode::StepsUsedUp, turns.to_string()))
    }

    fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Returns the plan while steps are at work or wait for users. A reply of the planner that is on its way
    /// does not know the edit and could undo it.
    fn editable_plan(&self) -> Option<&Plan> {
        self.plan().filter(|_| !self.tasks.is_empty())
    }

    /// Replaces the plan, and starts its ready steps while steps are at work.
    fn replace_plan(
        &mut self,
        plan: Plan,
        entry_id: EntryId,
        settings: &RunSettings,
    ) -> Option<WorkUpdate> {
        self.plan = Some(plan.clone());
        let mut update = TurnUpdate::default();
        if !self.tasks.is_empty() {
            self.start_ready_steps(settings, &mut update);
        }
        let plan = self.plan.clone().unwrap_or(plan);
        update.events.insert(0, (entry_id, Event::PlanChanged { plan }));
        Some(WorkUpdate::going_on(update).with_new_plan())
    }

    fn running_children(&self) -> Vec<ChildId> {
        let running = self.tasks.iter().filter(|task| task.share().is_some());
        running.map(Task::child_id).collect()
    }

    fn child_agent(&self, child: &ChildId) -> Option<(&str, Option<(&str, &ToolPolicy)>)> {
        let task = self.find_task(child.task()?)?;
        task.has_agent().then_some((&task.agent, None))
    }

    fn child_spec(&self, child: &ChildId, context: ChildContext<'_>) -> Option<RunSpec> {
        self.spec_of_task(child.task()?, context)
    }

    fn allocate_shares(&mut self, remaining: BudgetShare, spec: &RunSpec) -> Vec<(EntryId, Event)> {
        let settings = &spec.settings.plan;
        let places = spec.places();
        self.has_places = places > 0;
        split_budget(&mut self.tasks, self.plan.as_ref(), remaining, settings, places, true);
        Vec::new()
    }

    fn forget_hint(&mut self) {
        self.planner.forget_hint();
    }

    /// Processes a crash. The planner's call is repeated. A task continues from its own journal, which counts
    /// the crashes of its effects. A task that may have crashed its run's driver, as on a laptop, is never
    /// given up here.
    fn on_resumed(&mut self, ran: &ActiveEffects) -> Option<TurnUpdate> {
        for task in self.tasks.iter_mut().filter(|task| ran.has_child(&task.child_id())) {
            task.crashes += 1;
        }
        let no_update = Some(TurnUpdate::default());
        self.agent_mut().map_or(no_update, |planner| planner.on_resumed(ran))
    }

    /// Processes the planner's reply: runs its commands at once, and starts ready steps.
    fn on_model_replied(
        &mut self,
        replied: &ModelReplied,
        settings: &RunSettings,
        _max_calls: u32,
        _known_urls: &BTreeSet<String>,
    ) -> Option<WorkUpdate> {
        let max_steps = settings.plan.max_steps as usize;
        self.planner_turns += 1;
        let shown_first = settings.human.confirm_plan && self.plan.is_none();
        let mut plan = self.plan.clone();
        let mut is_done = false;
        let max_calls = settings.max_tool_calls_per_turn;
        let none_known = BTreeSet::new();
        let update =
            self.planner.on_model_replied(replied, settings, max_calls, &none_known, |call| {
                // A plan that needs approval is applied after the response.
                if shown_first && is_plan_creation(call, max_steps) {
                    None
                } else {
                    run_plan_command(call, &mut plan, max_steps, &mut is_done)
                }
            });
        let plan_entry = EntryId::of_message(&replied.message, EntryName::MessagePlan);
        Some(self.settle(update, plan, is_done, plan_entry, settings).with_new_plan())
    }

    /// Processes the end of a task. `None` if no step waits for the task.
    fn on_child_ended(&mut self, ended: &ChildEnded, settings: &RunSettings) -> Option<WorkUpdate> {
        let is_running =
            |task: &Task| task.child_id() == ended.report.child && task.share().is_some();
        let place = self.tasks.iter().position(is_running)?;
        let mut task = self.tasks.remove(place);
        let step = task.step;
        let mut update = TurnUpdate::default();
        if ended.tainted {
            self.planner.taint();
        }
        update
            .events
            .push((EntryId::of_child(task.id.clone(), EntryName::End), Event::child_ended(ended)));
        let attempts = self.attempts.get(&step).copied().unwrap_or(1);
        // A task is only stopped together with its run, which is not a failure.
        let is_failure = !ended.report.done && ended.status != RunStatus::Stopped;
        if is_failure && attempts < MAX_TASK_ATTEMPTS && !ended.is_out_of_budget() {
            let failure = Some(Box::new(ended.report.clone()));
            let before = PreviousAttempt { failure, revision: None };
            let next = self.next_attempt(step, &task.description, &task.agent, before);
            update.events.push(next.start_event());
            self.tasks.push(next);
            return Some(WorkUpdate::going_on(update));
        }
        if ended.report.done && settings.human.confirm_results {
            update.requests.extend(result_review(&task, ended));
            task.stage = TaskStage::InReview(Box::new(ended.clone()));
            self.tasks.insert(place, task);
            return Some(WorkUpdate::going_on(update));
        }
        let next = self.finish_step(step, StepResult::of(ended), settings, &mut update);
        Some(WorkUpdate { next, ..WorkUpdate::going_on(update) })
    }

    fn resolve_request(
        &mut self,
        request: &HumanRequest,
        response: &ResponseRecord,
        settings: &RunSettings,
    ) -> Option<WorkUpdate> {
        match &request.subject {
            Subject::StepReview { .. } | Subject::ResultReview { .. } => {
                self.resolve_step_request(request, response, settings)
            }
            _ => self.resolve_planner_request(request, response, settings),
        }
    }

    /// Ends the work on all tasks.
    fn abandon(&mut self) -> AbandonedWork {
        let events = self.tasks.iter().filter_map(Task::stop_event).collect();
        let running = self.running_children();
        for task in &self.tasks {
            // No user has asked for a change of this result.
            if let TaskStage::InReview(ended) = &task.stage {
                self.reports.insert(task.step, ended.report.clone());
                self.child_turns.insert(task.step, ended.turns_in_parent());
            }
        }
        let items = if self.reports.is_empty() { Vec::new() } else { self.take_round_items() };
        AbandonedWork { events, items, running }
    }
}

impl PlanSolve {
    pub(super) fn new(spec: &RunSpec, position: AgentPosition) -> Self {
        let planner = AgentLoop::new(Role::Planner, spec.path().depth());
        Self {
            planner: planner.with_position(position),
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
            let rounds = settings.max_rounds.to_string();
            Next::Exhausted(Failure::new(ErrorCode::RoundsUsedUp, rounds))
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
        let mut items: Vec<ConversationItem> = turns.map(ConversationItem::from).collect();
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
