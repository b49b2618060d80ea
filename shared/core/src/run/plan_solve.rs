//! Plan-Solve: the planner plans, ready steps run as tasks, the planner sees what came of them.

mod confirm;
mod stage;
mod turn;

use std::collections::BTreeMap;

use confirm::{about_result, about_step};
use stage::shown;
pub(super) use stage::{Before, Stage, Task};

use super::task::cut;
use crate::agent_loop::{AgentLoop, Observed};
use crate::budget::Share;
use crate::conversation::{Item, Turn};
use crate::crash::Ran;
use crate::effect::{Dispatch, Effect};
use crate::entry::Event;
use crate::id::TaskId;
use crate::input::{ModelReplied, TaskEnded, TaskReport};
use crate::plan::{PLANNING_TOOL, Plan, PlanCommand, Step, StepId, StepStatus};
use crate::settings::{PlanSettings, Role, RunSettings};
use crate::status::RunStatus;
use crate::tool::{Arguments, Call, FailReason, Observation, Outcome, Shown};

/// How often a step is tried: a task that failed gets one more attempt.
const MAX_TASK_ATTEMPTS: u32 = 2;

/// Outcomes that a task is told of although its step does not depend on them itself, and the bytes of
/// each.
const MAX_FURTHER: usize = 50;
pub(super) const MAX_FURTHER_TEXT: usize = 500;

/// How often the planner is asked to go on when it answers without a plan after one that was refused.
const MAX_PLAN_NUDGES: u32 = 2;

/// The planner and the tasks at work.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSolve {
    planner: AgentLoop,
    /// The planner's turns; its tasks' are their own.
    turns: u32,
    pub(super) plan: Option<Plan>,
    /// Tasks whose steps have not ended, in the order they began: what is at work stays at work.
    pub(super) tasks: Vec<Task>,
    /// Attempts made at each step.
    attempts: BTreeMap<StepId, u32>,
    /// What came of this round's tasks.
    reports: BTreeMap<StepId, TaskReport>,
    /// What joins the conversation besides, at the round's end.
    turns_of: BTreeMap<StepId, Vec<Turn>>,
    rounds: u32,
    nudges: u32,
    /// Whether the planner made a plan that was none.
    plan_refused: bool,
}

/// What came of a step.
struct Done {
    report: TaskReport,
    /// What joins the conversation besides.
    turns: Vec<Turn>,
}

impl Done {
    fn of(ended: &TaskEnded) -> Self {
        Self { report: ended.report.clone(), turns: ended.joining() }
    }
}

/// What an end of the work leaves.
pub(super) struct Abandoned {
    /// How tasks end that have not.
    pub(super) events: Vec<(String, Event)>,
    /// What is known of this round.
    pub(super) items: Vec<Item>,
    /// The tasks that somebody may be working on.
    pub(super) at_work: Vec<TaskId>,
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
            turns: 0,
            plan: None,
            tasks: Vec::new(),
            attempts: BTreeMap::new(),
            reports: BTreeMap::new(),
            turns_of: BTreeMap::new(),
            rounds: 0,
            nudges: 0,
            plan_refused: false,
        }
    }

    /// Tasks while there are some; else the planner's next turn.
    pub(super) fn due(&self) -> Vec<Effect> {
        if self.tasks.is_empty() {
            return self.planner.due();
        }
        let alone = self.tasks.len() == 1;
        let at_work = self.tasks.iter().filter(|task| task.share().is_some());
        at_work
            .map(|task| {
                let (task, crashes) = (task.id.clone(), task.crashes);
                Effect::Dispatch(Dispatch { task, alone, crashes, waits: false })
            })
            .collect()
    }

    pub(super) fn is_tainted(&self) -> bool {
        self.planner.is_tainted()
    }

    /// Why people are asked what they are: the planner's words, or what its plan is for.
    pub(super) fn words(&self) -> &str {
        match &self.plan {
            Some(plan) if !self.tasks.is_empty() => &plan.title,
            Some(_) | None => self.planner.words(),
        }
    }

    /// Whether steps are at work, or wait for people: the planner does not have the word.
    pub(super) fn is_in_round(&self) -> bool {
        !self.tasks.is_empty()
    }

    pub(super) fn planner(&mut self) -> Option<&mut AgentLoop> {
        self.tasks.is_empty().then_some(&mut self.planner)
    }

    /// Whether it is the planner's turn, and it has had all that it may take.
    pub(super) fn turns_are_used_up(&self, turns: u32) -> bool {
        self.tasks.is_empty() && self.turns >= turns
    }

    /// The tasks at work.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskId> {
        self.tasks.iter().filter(|task| task.share().is_some()).map(|task| &task.id)
    }

    /// What one of them is to do, what it may use up, and what became of the attempt before.
    pub(super) fn begun(&self, task: &TaskId) -> Option<(&str, Share, &Before)> {
        let task = self.tasks.iter().find(|known| known.id == *task)?;
        Some((task.words.as_str(), task.share()?, &task.before))
    }

    /// What came of this round's steps that a task's step builds on: of those it depends on the whole, of
    /// the newest of those that these do the beginning. A long chain must not be stored with each of
    /// its steps.
    pub(super) fn reports_before(&self, task: &TaskId) -> Vec<TaskReport> {
        let plan = self.plan.as_ref();
        let Some((plan, step)) = plan.zip(task.step()) else { return Vec::new() };
        let behind = plan.behind(step);
        let depends_on = plan.step(step).map(|step| &step.depends_on);
        let mut room = MAX_FURTHER;
        let mut reports = Vec::new();
        for (id, report) in self.reports.iter().rev().filter(|(id, _)| behind.contains(id)) {
            if depends_on.is_some_and(|on| on.contains(id)) {
                reports.push(report.clone());
            } else if room > 0 {
                room -= 1;
                reports.push(TaskReport {
                    text: cut(&report.text, MAX_FURTHER_TEXT),
                    ..report.clone()
                });
            }
        }
        reports.reverse();
        reports
    }

    /// Takes the planner's reply: its commands are carried out at once, and what is ready begins.
    pub(super) fn replied(
        &mut self,
        replied: &ModelReplied,
        settings: &RunSettings,
    ) -> (Observed, Then) {
        let max_steps = settings.plan.max_steps as usize;
        self.turns += 1;
        let shown_first = settings.feedback.confirm_plan && self.plan.is_none();
        let mut plan = self.plan.clone();
        let mut finished = false;
        let most = settings.max_tool_calls_per_turn;
        let observed = self.planner.replied(replied, settings, most, |call| {
            // A plan that people are shown first is carried out when they have answered.
            if shown_first && makes_plan(call, max_steps) {
                None
            } else {
                planned(call, &mut plan, max_steps, &mut finished)
            }
        });
        self.went_on(observed, plan, finished, replied.message.as_str(), settings)
    }

    /// The driver died. The planner's call is made again; a task has a journal of its own to be
    /// continued from, in which it is counted what it was that it did. One that may have taken its
    /// run's driver down with it, as on a laptop, is never given up here.
    pub(super) fn resumed(&mut self, ran: &Ran) -> Option<Observed> {
        for task in self.tasks.iter_mut().filter(|task| ran.has_task(&task.id)) {
            task.crashes += 1;
        }
        match self.planner() {
            Some(planner) => planner.resumed(ran),
            None => Some(Observed::default()),
        }
    }

    /// The work ends here.
    pub(super) fn abandon(&mut self) -> Abandoned {
        let events = self.tasks.iter().filter_map(Task::stopped).collect();
        let at_work = self.tasks().cloned().collect();
        for task in &self.tasks {
            // Nobody has said that it is not what was wanted.
            if let Stage::Judged(ended) = &task.stage {
                self.reports.insert(task.step, ended.report.clone());
                self.turns_of.insert(task.step, ended.joining());
            }
        }
        let items = if self.reports.is_empty() { Vec::new() } else { self.told() };
        Abandoned { events, items, at_work }
    }

    /// Takes a task's end. `None` if nobody waits for it.
    pub(super) fn task_ended(
        &mut self,
        ended: &TaskEnded,
        settings: &RunSettings,
    ) -> Option<(Observed, Then)> {
        let known = |task: &Task| task.id == ended.report.task && task.share().is_some();
        let place = self.tasks.iter().position(known)?;
        let mut task = self.tasks.remove(place);
        let step = task.step;
        let mut observed = Observed::default();
        if ended.tainted {
            self.planner.taint();
        }
        observed.events.push((format!("{}.end", task.id), shown(ended)));
        let attempts = self.attempts.get(&step).copied().unwrap_or(1);
        // A task is only stopped when its run is: that is no failure.
        let failed = !ended.report.done && ended.status != RunStatus::Stopped;
        if failed && attempts < MAX_TASK_ATTEMPTS && !ended.is_used_up() {
            let failed = Some(ended.report.text.clone());
            let again = self.task(step, &task.words, Before { failed, redo: None });
            observed.events.push(again.started());
            self.tasks.push(again);
            return Some((observed, Then::GoOn));
        }
        if ended.report.done && settings.feedback.confirm_results {
            observed.asks.extend(about_result(&task, ended));
            task.stage = Stage::Judged(Box::new(ended.clone()));
            self.tasks.insert(place, task);
            return Some((observed, Then::GoOn));
        }
        let then = self.step_ended(Done::of(ended), settings, &mut observed);
        Some((observed, then))
    }

    /// Nobody works on a step any more: what waits for it begins, or the round is over.
    fn step_ended(&mut self, done: Done, settings: &RunSettings, observed: &mut Observed) -> Then {
        let Done { report, turns } = done;
        let Some(step) = report.task.step() else { return Then::GoOn };
        let (status, note) = match report.done {
            true => (StepStatus::Completed, ""),
            false => (StepStatus::Blocked, report.text.as_str()),
        };
        if let Some(plan) = &mut self.plan {
            // The step is there: an update keeps what is being worked on.
            let _ = plan.mark(step, status, note);
        }
        let changed = Event::StepChanged { step, status, note: note.to_owned() };
        observed.events.push((format!("{}.step", report.task), changed));
        self.reports.insert(step, report);
        self.turns_of.insert(step, turns);
        self.start_ready(settings, observed);
        if self.tasks.is_empty() { self.end_round(&settings.plan, observed) } else { Then::GoOn }
    }

    /// Every task of the round has ended and nothing became ready.
    fn end_round(&mut self, settings: &PlanSettings, observed: &mut Observed) -> Then {
        self.rounds += 1;
        observed.items.extend(self.told());
        let Some(plan) = &self.plan else { return Then::GoOn };
        if settings.close_update && plan.is_complete() {
            Then::Done
        } else if self.rounds >= settings.max_rounds {
            Then::RoundsUsedUp
        } else {
            Then::GoOn
        }
    }

    /// What joins the conversation of this round so far, in the plan's order.
    fn told(&mut self) -> Vec<Item> {
        let Some(plan) = &self.plan else { return Vec::new() };
        let reports = std::mem::take(&mut self.reports);
        let mut turns = std::mem::take(&mut self.turns_of);
        let ids = || plan.steps().iter().map(|step| step.id);
        let turns = ids().filter_map(|id| turns.remove(&id)).flatten();
        let mut items: Vec<Item> = turns.map(Item::Turn).collect();
        let reports = ids().filter_map(|id| reports.get(&id)).cloned().collect();
        items.push(Item::Round { reports, plan: plan.clone() });
        items
    }

    /// Begins every step that is ready, or asks whether it may.
    fn start_ready(&mut self, settings: &RunSettings, observed: &mut Observed) {
        let ready: Vec<Step> =
            self.plan.iter().flat_map(|plan| plan.ready().cloned().collect::<Vec<_>>()).collect();
        for step in &ready {
            if let Some(plan) = &mut self.plan {
                let _ = plan.mark(step.id, StepStatus::InProgress, "");
            }
            let mut task = self.task(step.id, &step.words(), Before::default());
            task.stage = Stage::first(step, &settings.feedback);
            match task.stage {
                Stage::Held => observed.asks.extend(about_step(&task)),
                Stage::Waiting | Stage::AtWork(_) | Stage::Judged(_) => {
                    observed.events.push(task.started());
                }
            }
            self.tasks.push(task);
        }
    }

    /// Takes a plan as a person changed it. While steps are at work, what is ready now begins.
    pub(super) fn edit(&mut self, plan: Plan, settings: &RunSettings) -> (Plan, Observed) {
        self.plan = Some(plan.clone());
        let mut observed = Observed::default();
        if self.is_in_round() {
            self.start_ready(settings, &mut observed);
        }
        (self.plan.clone().unwrap_or(plan), observed)
    }

    pub(super) fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// The next attempt at a step.
    fn task(&mut self, step: StepId, words: &str, before: Before) -> Task {
        let attempts = self.attempts.entry(step).or_default();
        *attempts += 1;
        let (id, words) = (TaskId::of(step.0, *attempts), words.to_owned());
        Task { id, step, words, before, crashes: 0, stage: Stage::Waiting }
    }
}

/// Whether a call makes a run's first plan.
fn makes_plan(call: &Call, max_steps: usize) -> bool {
    let mut plan = None;
    planned(call, &mut plan, max_steps, &mut false).is_some() && plan.is_some()
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
