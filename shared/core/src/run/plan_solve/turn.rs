//! The consequences of a planner turn.

use super::{Next, PlanSolve, WorkUpdate, run_plan_command};
use crate::agent_loop::TurnUpdate;
use crate::conversation::{ConversationItem, Nudge};
use crate::entry::Event;
use crate::human::{HumanRequest, ResponseRecord};
use crate::id::{EntryId, EntryName};
use crate::plan::{PLANNING_TOOL, Plan};
use crate::settings::RunSettings;
use crate::tool::{ToolFailure, ToolResult};

/// Maximum reminders to the planner if it answers without a plan after a rejected plan.
const MAX_PLAN_NUDGES: u32 = 2;

impl PlanSolve {
    /// Processes a response about a plan, or about another call of the planner.
    pub(super) fn resolve_planner_request(
        &mut self,
        ask: &HumanRequest,
        response: &ResponseRecord,
        settings: &RunSettings,
    ) -> Option<WorkUpdate> {
        let mut update = self.planner.resolve_request(&ask.id, response)?;
        let mut plan = self.plan.clone();
        let mut is_done = false;
        let (call, tool, _) = ask.subject.call()?;
        if tool == PLANNING_TOOL
            && let Some(open) = self.planner.find_open_call(call).cloned()
        {
            let max_steps = settings.plan.max_steps as usize;
            let outcome = run_plan_command(&open, &mut plan, max_steps, &mut is_done)?;
            update = self.planner.on_tool_returned(call, &outcome)?;
        }
        let plan_entry = EntryId::of_call(call, EntryName::CallPlan);
        Some(self.settle(update, plan, is_done, plan_entry, settings).with_new_plan())
    }

    /// Determines the next action after a planner turn, complete or not. `plan_entry` is the id for the entry
    /// about a changed plan.
    pub(super) fn settle(
        &mut self,
        mut update: TurnUpdate,
        plan: Option<Plan>,
        is_done: bool,
        plan_entry: EntryId,
        settings: &RunSettings,
    ) -> WorkUpdate {
        let has_changes = plan != self.plan;
        self.plan = plan;
        self.has_rejected_plan |= update.items.iter().any(is_rejected_plan);
        if update.items.is_empty() {
            return WorkUpdate::going_on(update);
        }
        let next = match &self.plan {
            // Without a command, the planner does not need the rest of its plan.
            Some(_) if is_done || update.done => Next::Summarize,
            Some(_) => Next::Continue,
            None if !update.done => Next::Continue,
            None if is_silent(&update.items) => Next::Summarize,
            // The planner tried to plan and failed.
            None if self.has_rejected_plan && self.nudges < MAX_PLAN_NUDGES => {
                self.nudges += 1;
                update.items.push(ConversationItem::Nudge(Nudge::NoPlan));
                Next::Continue
            }
            None => Next::Answer,
        };
        update.done = false;
        let mut new_steps = TurnUpdate::default();
        if next == Next::Continue {
            self.start_ready_steps(settings, &mut new_steps);
        }
        let has_changes =
            has_changes || !new_steps.events.is_empty() || !new_steps.requests.is_empty();
        if let Some(plan) = self.plan.as_ref().filter(|_| has_changes) {
            let event = Event::PlanChanged { plan: plan.clone() };
            update.events.push((plan_entry, event));
        }
        update.events.extend(new_steps.events);
        update.requests.extend(new_steps.requests);
        WorkUpdate { next, ..WorkUpdate::going_on(update) }
    }
}

/// Returns true if a turn holds an invalid plan. A plan that users rejected or left without a response is not
/// invalid, because users decide.
fn is_rejected_plan(item: &ConversationItem) -> bool {
    let ConversationItem::Turn(turn) = item else { return false };
    turn.calls.iter().any(|(call, outcome)| match outcome {
        ToolResult::Done(_) => false,
        ToolResult::PlanRefused { .. } => true,
        ToolResult::Failed { reason, .. } => {
            let is_unwanted = matches!(
                reason,
                ToolFailure::Skipped | ToolFailure::Unanswered | ToolFailure::Answered
            );
            call.tool == PLANNING_TOOL && !is_unwanted
        }
    })
}

fn is_silent(items: &[ConversationItem]) -> bool {
    items
        .iter()
        .all(|item| matches!(item, ConversationItem::Turn(turn) if turn.text.trim().is_empty()))
}
