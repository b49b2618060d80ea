//! Plan-Solve: the planner plans, ready steps run as tasks, the planner sees what came of them.

use std::collections::BTreeMap;

use crate::agent_loop::{AgentLoop, Observed};
use crate::budget::Spent;
use crate::code::ErrorCode;
use crate::conversation::{Item, Note};
use crate::effect::{Dispatch, Effect};
use crate::entry::Event;
use crate::id::TaskId;
use crate::input::{ModelReplied, TaskEnded, TaskReport};
use crate::plan::{PLANNING_TOOL, Plan, PlanCommand, StepId, StepStatus};
use crate::settings::{PlanSettings, Role, RunSettings};
use crate::status::RunStatus;
use crate::tool::{Arguments, Call, FailReason, Observation, Outcome, Shown};

/// How often a step is tried: a task that failed gets one more attempt.
const MAX_TASK_ATTEMPTS: u32 = 2;

/// How often the planner is asked to go on when it answers without a plan.
const MAX_PLAN_NUDGES: u32 = 2;

/// The planner and the tasks at work.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSolve {
    planner: AgentLoop,
    plan: Option<Plan>,
    /// Tasks that have not ended, in the order they began: what is at work stays at work.
    tasks: Vec<Task>,
    /// Attempts made at each step.
    attempts: BTreeMap<StepId, u32>,
    /// What came of this round's tasks.
    reports: BTreeMap<StepId, TaskReport>,
    rounds: u32,
    nudges: u32,
}

#[derive(Debug, Clone, PartialEq)]
struct Task {
    id: TaskId,
    step: StepId,
    words: String,
    failed_before: Option<String>,
}

/// What follows from a move of the planner or a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// There is more to do.
    GoOn,
    /// The planner's words are the answer: there is nothing to plan.
    Answered,
    /// The work is done: sum up.
    Done,
    /// The rounds are used up: sum up what there is.
    RoundsUsedUp,
}

impl PlanSolve {
    pub(super) fn new() -> Self {
        Self {
            planner: AgentLoop::new(Role::Planner),
            plan: None,
            tasks: Vec::new(),
            attempts: BTreeMap::new(),
            reports: BTreeMap::new(),
            rounds: 0,
            nudges: 0,
        }
    }

    /// Tasks while there are some; else the planner's next turn.
    pub(super) fn due(&self, settings: &PlanSettings) -> Vec<Effect> {
        if self.tasks.is_empty() {
            return self.planner.due();
        }
        let alone = self.tasks.len() == 1;
        let at_once = self.tasks.iter().take(settings.max_tasks as usize);
        at_once.map(|task| Effect::Dispatch(Dispatch { task: task.id.clone(), alone })).collect()
    }

    pub(super) fn planner(&mut self) -> Option<&mut AgentLoop> {
        self.tasks.is_empty().then_some(&mut self.planner)
    }

    /// The tasks that have not ended: id, the step's words, and why the attempt before failed.
    pub fn tasks(&self) -> impl Iterator<Item = (&TaskId, &str, Option<&str>)> {
        self.tasks.iter().map(|task| (&task.id, task.words.as_str(), task.failed_before.as_deref()))
    }

    /// What came of this round's tasks so far.
    pub(super) fn reports(&self) -> impl Iterator<Item = &TaskReport> {
        self.reports.values()
    }

    /// Takes the planner's reply: its commands are carried out at once, and what is ready begins.
    pub(super) fn replied(
        &mut self,
        replied: &ModelReplied,
        settings: &RunSettings,
    ) -> (Observed, Then) {
        let max_steps = settings.plan.max_steps as usize;
        let mut plan = self.plan.clone();
        let mut finished = false;
        let mut observed = self
            .planner
            .replied(replied, settings, |call| planned(call, &mut plan, max_steps, &mut finished));
        let changed = plan != self.plan;
        self.plan = plan;
        if observed.items.is_empty() {
            return (observed, Then::GoOn);
        }
        let then = match &self.plan {
            // Without a command, the planner has no use for what is left of its plan.
            Some(_) if finished || observed.done => Then::Done,
            Some(_) => Then::GoOn,
            None if !observed.done => Then::GoOn,
            None if self.nudges < MAX_PLAN_NUDGES => {
                self.nudges += 1;
                observed.items.push(Item::Note(Note::NoPlan));
                Then::GoOn
            }
            None => Then::Answered,
        };
        observed.done = false;
        if then == Then::GoOn {
            self.start_ready(replied.message.as_str(), changed, &mut observed.events);
        } else if changed {
            self.show_plan(replied.message.as_str(), &mut observed.events);
        }
        (observed, then)
    }

    /// The driver died. A task has a journal of its own to be continued from; the planner's call is
    /// made again.
    pub(super) fn resumed(&mut self) -> Option<Observed> {
        match self.planner() {
            Some(planner) => planner.resumed(),
            None => Some(Observed { events: Vec::new(), items: Vec::new(), done: false }),
        }
    }

    /// The run ends here: how its tasks end with it.
    pub(super) fn abandon(&self) -> Vec<(String, Event)> {
        let stopped = |task: &Task| {
            let event = Event::TaskEnded {
                task: task.id.clone(),
                status: RunStatus::Stopped,
                text: String::new(),
                files: Vec::new(),
                failure: Some(ErrorCode::Stopped.into()),
                spent: Spent::default(),
            };
            (format!("{}.end", task.id), event)
        };
        self.tasks.iter().map(stopped).collect()
    }

    /// Takes a task's end. `None` if nobody waits for it.
    pub(super) fn task_ended(
        &mut self,
        ended: &TaskEnded,
        settings: &PlanSettings,
    ) -> Option<(Observed, Then)> {
        let place = self.tasks.iter().position(|task| task.id == ended.report.task)?;
        let task = self.tasks.remove(place);
        let step = task.step;
        let mut observed = Observed { events: Vec::new(), items: Vec::new(), done: false };
        observed.events.push((format!("{}.end", task.id), shown(ended)));
        let attempts = self.attempts.get(&step).copied().unwrap_or(1);
        // A task is only stopped when its run is: that is no failure.
        let failed = !ended.report.done && ended.status != RunStatus::Stopped;
        if failed && attempts < MAX_TASK_ATTEMPTS {
            let again = self.task(step, &task.words, Some(ended.report.text.clone()));
            observed.events.push(started(&again));
            self.tasks.push(again);
            return Some((observed, Then::GoOn));
        }
        let (status, note) = match ended.report.done {
            true => (StepStatus::Completed, ""),
            false => (StepStatus::Blocked, ended.report.text.as_str()),
        };
        if let Some(plan) = &mut self.plan {
            // The step is there: an update keeps what is being worked on.
            let _ = plan.mark(step, status, note);
        }
        self.reports.insert(step, ended.report.clone());
        self.start_ready(task.id.as_str(), true, &mut observed.events);
        let then = if self.tasks.is_empty() {
            self.end_round(settings, &mut observed)
        } else {
            Then::GoOn
        };
        Some((observed, then))
    }

    /// Every task of the round has ended and nothing became ready.
    fn end_round(&mut self, settings: &PlanSettings, observed: &mut Observed) -> Then {
        self.rounds += 1;
        let Some(plan) = &self.plan else { return Then::GoOn };
        let reports = std::mem::take(&mut self.reports);
        let in_order = plan.steps().iter().filter_map(|step| reports.get(&step.id));
        let reports = in_order.cloned().collect();
        observed.items.push(Item::Round { reports, plan: plan.clone() });
        if settings.close_update && plan.is_complete() {
            Then::Done
        } else if self.rounds >= settings.max_rounds {
            Then::RoundsUsedUp
        } else {
            Then::GoOn
        }
    }

    /// Begins every step that is ready, and shows the plan if it changed.
    fn start_ready(&mut self, by: &str, changed: bool, events: &mut Vec<(String, Event)>) {
        let ready: Vec<(StepId, String)> = self
            .plan
            .iter()
            .flat_map(|plan| plan.ready().map(|step| (step.id, step.words())).collect::<Vec<_>>())
            .collect();
        let mut tasks = Vec::with_capacity(ready.len());
        for (step, words) in &ready {
            if let Some(plan) = &mut self.plan {
                let _ = plan.mark(*step, StepStatus::InProgress, "");
            }
            let task = self.task(*step, words, None);
            tasks.push(started(&task));
            self.tasks.push(task);
        }
        if changed || !ready.is_empty() {
            self.show_plan(by, events);
        }
        events.extend(tasks);
    }

    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    fn show_plan(&self, by: &str, events: &mut Vec<(String, Event)>) {
        if let Some(plan) = &self.plan {
            events.push((format!("{by}.plan"), Event::PlanChanged { plan: plan.clone() }));
        }
    }

    /// The next attempt at a step.
    fn task(&mut self, step: StepId, words: &str, failed_before: Option<String>) -> Task {
        let attempts = self.attempts.entry(step).or_default();
        *attempts += 1;
        Task { id: TaskId::of(step.0, *attempts), step, words: words.to_owned(), failed_before }
    }
}

fn started(task: &Task) -> (String, Event) {
    let event = Event::TaskStarted { task: task.id.clone(), words: task.words.clone() };
    (format!("{}.start", task.id), event)
}

fn shown(ended: &TaskEnded) -> Event {
    Event::TaskEnded {
        task: ended.report.task.clone(),
        status: ended.status,
        text: ended.report.text.clone(),
        files: ended.files.iter().rev().filter(|file| !file.internal).cloned().collect(),
        failure: ended.failure.clone(),
        spent: ended.spent,
    }
}

/// Carries a call of the planning tool out; `None` for a call of another tool.
fn planned(
    call: &Call,
    plan: &mut Option<Plan>,
    max_steps: usize,
    finished: &mut bool,
) -> Option<Outcome> {
    let Arguments::Parsed(arguments) = &call.arguments else { return None };
    if call.tool != PLANNING_TOOL {
        return None;
    }
    let applied = PlanCommand::read(arguments).and_then(|command| {
        *finished |= command == PlanCommand::Finish && plan.is_some();
        command.apply(plan.as_ref(), max_steps)
    });
    Some(match applied {
        Ok(changed) => {
            *plan = Some(changed.clone());
            let shown = Shown::Plan { plan: changed };
            Outcome::Done(Observation { shown, ..Observation::text("") })
        }
        Err(error) => Outcome::Failed {
            reason: FailReason::BadPlan,
            detail: serde_json::to_string(&error).unwrap_or_default(),
        },
    })
}
