//! What a turn of the planner's leads to.

use super::{MAX_PLAN_NUDGES, PlanSolve, Then, planned};
use crate::agent_loop::Observed;
use crate::conversation::{Item, Note};
use crate::entry::Event;
use crate::feedback::{Answered, Ask};
use crate::plan::{PLANNING_TOOL, Plan};
use crate::settings::RunSettings;
use crate::tool::{FailReason, Outcome};

impl PlanSolve {
    /// A person has told the planner something.
    pub(in crate::run) fn forget_hint(&mut self) {
        self.planner.forget_hint();
    }

    /// Takes a person's answer about a plan that they were shown, or another call of the planner's.
    pub(in crate::run) fn answered(
        &mut self,
        ask: &Ask,
        answered: &Answered,
        settings: &RunSettings,
    ) -> Option<(Observed, Then)> {
        let mut observed = self.planner.answered(&ask.id, &answered.answer, &answered.comment)?;
        let mut plan = self.plan.clone();
        let mut finished = false;
        let (call, tool, _) = ask.about.call()?;
        if tool == PLANNING_TOOL
            && let Some(open) = self.planner.open(call).cloned()
        {
            let max_steps = settings.plan.max_steps as usize;
            let outcome = planned(&open, &mut plan, max_steps, &mut finished)?;
            observed = self.planner.returned(call, &outcome)?;
        }
        let name = format!("{call}.answered");
        Some(self.went_on(observed, plan, finished, &name, settings))
    }

    /// What follows from a turn of the planner's, complete or not: `name` names it in entries.
    pub(super) fn went_on(
        &mut self,
        mut observed: Observed,
        plan: Option<Plan>,
        finished: bool,
        name: &str,
        settings: &RunSettings,
    ) -> (Observed, Then) {
        let changed = plan != self.plan;
        self.plan = plan;
        self.plan_refused |= observed.items.iter().any(is_refused_plan);
        if observed.items.is_empty() {
            return (observed, Then::GoOn);
        }
        let then = match &self.plan {
            // Without a command, the planner has no use for what is left of its plan.
            Some(_) if finished || observed.done => Then::Done,
            Some(_) => Then::GoOn,
            None if !observed.done => Then::GoOn,
            None if says_nothing(&observed.items) => Then::Done,
            // It meant to plan, and could not.
            None if self.plan_refused && self.nudges < MAX_PLAN_NUDGES => {
                self.nudges += 1;
                observed.items.push(Item::Note(Note::NoPlan));
                Then::GoOn
            }
            None => Then::Answered,
        };
        observed.done = false;
        let mut begun = Observed::default();
        if then == Then::GoOn {
            self.start_ready(settings, &mut begun);
        }
        let changed = changed || !begun.events.is_empty() || !begun.asks.is_empty();
        if let Some(plan) = self.plan.as_ref().filter(|_| changed) {
            let event = Event::PlanChanged { plan: plan.clone() };
            observed.events.push((format!("{name}.plan"), event));
        }
        observed.events.extend(begun.events);
        observed.asks.extend(begun.asks);
        (observed, then)
    }
}

/// Whether a turn holds a plan that the planner made and cannot have. One that people did not want is
/// none: they have the last word.
fn is_refused_plan(item: &Item) -> bool {
    let Item::Turn(turn) = item else { return false };
    turn.calls.iter().any(|(call, outcome)| match outcome {
        Outcome::Done(_) => false,
        Outcome::Failed { reason, .. } => {
            call.tool == PLANNING_TOOL
                && !matches!(reason, FailReason::Skipped | FailReason::Answered)
        }
    })
}

fn says_nothing(items: &[Item]) -> bool {
    items.iter().all(|item| matches!(item, Item::Turn(turn) if turn.text.trim().is_empty()))
}
