//! Workflows: the steps of a file run as the tasks of a plan, without a planner.

mod child;
mod parameter;
mod review;
mod step;
mod value;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use self::parameter::ParameterQuestions;
use self::step::StepOrigin;
use super::child::ChildContext;
use super::plan_solve::{PreviousAttempt, Task, TaskStage, result_review, split_budget};
use super::progress::{Next, WorkUpdate};
use super::work::{AbandonedWork, Work};
use crate::agent_loop::{AgentLoop, TurnUpdate};
use crate::budget::BudgetShare;
use crate::conversation::{ChildReport, ConversationItem};
use crate::crash::ActiveEffects;
use crate::effect::{ChildDispatch, Effect};
use crate::entry::Event;
use crate::error_code::ErrorCode;
use crate::human::{HumanRequest, ResponseRecord, Subject};
use crate::id::{ChildId, EntryId, EntryName, StepId, TaskId};
use crate::input::{ChildEnded, RunSpec};
use crate::plan::{Plan, StepStatus};
use crate::settings::{RunSettings, SummaryPolicy};
use crate::status::RunStatus;
use crate::tool::ToolPolicy;
use crate::workflow::Workflow;

/// The steps of a workflow at work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WorkflowRun {
    workflow: Workflow,
    /// The arguments so far, with those that the user was asked for.
    arguments: Map<String, Value>,
    questions: ParameterQuestions,
    plan: Option<Plan>,
    /// The origin of each step of the plan. A step that a user added has none.
    origins: BTreeMap<StepId, StepOrigin>,
    /// Tasks whose steps have not ended, in the order of their starts.
    tasks: Vec<Task>,
    /// The number of attempts at each step.
    attempts: BTreeMap<StepId, u32>,
    /// The reports of completed steps.
    reports: BTreeMap<StepId, ChildReport>,
    /// True if a task has read text that anybody may have written.
    tainted: bool,
    /// True if the tasks may have their own invocations.
    has_places: bool,
    /// The end of a workflow that ends in its first record, which waits for the plan's file: a run ends after its
    /// start.
    ending: Option<Next>,
}

impl Work for WorkflowRun {
    fn agent(&self) -> Option<&AgentLoop> {
        None
    }

    fn agent_mut(&mut self) -> Option<&mut AgentLoop> {
        None
    }

    fn due(&self) -> Vec<Effect> {
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

    /// Starts the first steps, or asks for the first missing argument.
    fn begin(&mut self, settings: &RunSettings) -> Option<WorkUpdate> {
        let mut update = TurnUpdate::default();
        let next = self.ask_or_start(settings, &mut update);
        if let Some(plan) = self.plan.clone() {
            let id = EntryId::local(EntryName::Plan);
            update.events.insert(0, (id, Event::PlanChanged { plan }));
        }
        let next = match next {
            Next::Finish(_) | Next::Fail(_) if self.plan.is_some() => {
                self.ending = Some(next);
                Next::Wait
            }
            next => next,
        };
        Some(to_progress(update, next))
    }

    fn on_plan_saved(&mut self) -> Option<WorkUpdate> {
        let next = self.ending.take()?;
        Some(to_progress(TurnUpdate::default(), next))
    }

    /// No model writes the answer.
    fn summary_policy(&self, _spec: &RunSpec) -> Option<SummaryPolicy> {
        None
    }

    fn reads_messages(&self) -> bool {
        false
    }

    fn is_tainted(&self) -> bool {
        self.tainted
    }

    fn request_reasoning(&self) -> &str {
        &self.workflow.title
    }

    fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// Returns the plan while steps are at work or wait for users.
    fn editable_plan(&self) -> Option<&Plan> {
        self.plan().filter(|_| !self.tasks.is_empty())
    }

    /// Replaces the plan, and starts its ready steps.
    fn replace_plan(
        &mut self,
        plan: Plan,
        entry_id: EntryId,
        settings: &RunSettings,
    ) -> Option<WorkUpdate> {
        self.plan = Some(plan.clone());
        let mut update = TurnUpdate::default();
        let next = self.start_ready_steps(settings, &mut update);
        let plan = self.plan.clone().unwrap_or(plan);
        update.events.insert(0, (entry_id, Event::PlanChanged { plan }));
        Some(to_progress(update, next))
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
        split_budget(&mut self.tasks, self.plan.as_ref(), remaining, settings, places, false);
        Vec::new()
    }

    /// Counts a crash of the driver. A task continues from its own journal.
    fn on_resumed(&mut self, ran: &ActiveEffects) -> Option<TurnUpdate> {
        for task in self.tasks.iter_mut().filter(|task| ran.has_child(&task.child_id())) {
            task.crashes += 1;
        }
        Some(TurnUpdate::default())
    }

    fn on_child_ended(&mut self, ended: &ChildEnded, settings: &RunSettings) -> Option<WorkUpdate> {
        let is_running =
            |task: &Task| task.child_id() == ended.report.child && task.share().is_some();
        let place = self.tasks.iter().position(is_running)?;
        let mut task = self.tasks.remove(place);
        let mut update = TurnUpdate::default();
        self.tainted |= ended.tainted;
        let end = EntryId::of_child(task.id.clone(), EntryName::End);
        update.events.push((end, Event::child_ended(ended)));
        // A task is only stopped together with its run, whose stop follows.
        if ended.status == RunStatus::Stopped {
            let note = ended.report.full_text(settings.language).into_owned();
            let report = Some(&ended.report);
            self.end_step(task.step, report, StepStatus::Blocked, &note, &mut update);
            return Some(to_progress(update, Next::Wait));
        }
        let attempts = self.attempts.get(&task.step).copied().unwrap_or(1);
        if !ended.report.done && attempts <= self.retries_of(task.step) && !ended.is_out_of_budget()
        {
            let failure = Some(Box::new(ended.report.clone()));
            let before = PreviousAttempt { failure, revision: None };
            let next = self.next_attempt(task.step, &task.description, &task.agent, before);
            update.events.push(next.start_event());
            self.tasks.push(next);
            return Some(to_progress(update, Next::Continue));
        }
        if ended.report.done && settings.human.confirm_results {
            update.requests.extend(result_review(&task, ended));
            task.stage = TaskStage::InReview(Box::new(ended.clone()));
            self.tasks.insert(place, task);
            return Some(to_progress(update, Next::Continue));
        }
        let next = self.finish_step(task.step, ended.report.clone(), settings, &mut update);
        Some(to_progress(update, next))
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
            _ => self.resolve_parameter(request, response, settings),
        }
    }

    fn abandon(&mut self) -> AbandonedWork {
        let events = self.tasks.iter().filter_map(Task::stop_event).collect();
        let running = self.running_children();
        AbandonedWork { events, items: self.report_round().into_iter().collect(), running }
    }
}

impl WorkflowRun {
    /// Creates the work of a run whose agent has a workflow. The plan shows the templates of missing arguments.
    pub(super) fn new(spec: &RunSpec, workflow: &Workflow) -> Self {
        let parameters = spec.agent().map(|agent| &agent.parameters);
        let mut work = Self {
            workflow: workflow.clone(),
            arguments: Map::new(),
            questions: ParameterQuestions::of(parameters),
            plan: None,
            origins: BTreeMap::new(),
            tasks: Vec::new(),
            attempts: BTreeMap::new(),
            reports: BTreeMap::new(),
            tainted: false,
            has_places: true,
            ending: None,
        };
        let names = work.questions.parameters().map(str::to_owned).collect::<Vec<_>>();
        work.arguments = names
            .into_iter()
            .filter_map(|name| spec.argument(&name).map(|value| (name, value)))
            .collect();
        work.write_plan();
        work
    }

    /// Asks for the next missing argument, or starts the steps.
    fn ask_or_start(&mut self, settings: &RunSettings, update: &mut TurnUpdate) -> Next {
        if self.plan.is_none() {
            return Next::Fail(ErrorCode::Internal.into());
        }
        match self.questions.next_missing(&self.arguments, settings.human.clarify) {
            Err(failure) => Next::Fail(failure),
            Ok(Some(request)) => {
                update.requests.push(*request);
                Next::Wait
            }
            Ok(None) => self.start_ready_steps(settings, update),
        }
    }

    /// Returns the reports of the completed steps, in the plan's order.
    fn report_round(&self) -> Option<ConversationItem> {
        let plan = self.plan.clone()?;
        let reports = plan.steps().iter().filter_map(|step| self.reports.get(&step.id));
        let reports = reports.filter(|report| !report.text.is_empty());
        let reports: Vec<_> = reports.cloned().collect();
        (!reports.is_empty()).then_some(ConversationItem::Round { reports, plan })
    }

    fn find_task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == *id)
    }

    /// Returns the maximum repeats of a step after a failure.
    fn retries_of(&self, step: StepId) -> u32 {
        let fixed = self.origins.get(&step).and_then(|origin| self.fixed_step(origin));
        fixed.map_or(crate::workflow::DEFAULT_RETRY, |fixed| fixed.retry)
    }
}

/// Returns the progress with this next action. A changed plan has an event, and its file is written.
fn to_progress(update: TurnUpdate, next: Next) -> WorkUpdate {
    let is_change = |event: &Event| matches!(event, Event::PlanChanged { .. });
    let has_replanned = update.events.iter().any(|(_, event)| is_change(event));
    WorkUpdate { update, next, has_replanned }
}
