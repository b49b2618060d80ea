//! The spec of a workflow's task.

use serde_json::Map;

use super::WorkflowRun;
use crate::agent::{ALL_TOOLS, TASK_ARGUMENT};
use crate::budget::BudgetShare;
use crate::id::TaskId;
use crate::input::{ChildSpec, RunSpec};
use crate::run::child::ChildContext;
use crate::run::plan_solve::split_task_places;

impl WorkflowRun {
    /// Returns the spec of a task that is due, with its share of the remaining budget. `None` for other tasks.
    pub(super) fn spec_of_task(&self, id: &TaskId, context: ChildContext<'_>) -> Option<RunSpec> {
        let task = self.find_task(id)?;
        let share = task.share()?;
        let settings = &context.spec.settings;
        let places = split_task_places(
            &self.tasks,
            self.plan.as_ref(),
            &settings.plan,
            context.spec.places(),
        );
        let tool_calls = settings.budget.tool_calls.min(share.tool_calls);
        let origin = self.origins.get(&task.step);
        let fixed = origin.and_then(|origin| Some((origin, self.fixed_step(origin)?)));
        let mut arguments = Map::new();
        if task.has_agent() {
            // The arguments are for the agent of the file.
            if let Some((origin, fixed)) = fixed.filter(|(_, fixed)| fixed.agent == task.agent) {
                arguments = self.render_arguments(fixed, origin.item.as_ref());
            }
            arguments.insert(TASK_ARGUMENT.to_owned(), task.description.clone().into());
        }
        // The deployment offers a step the agent that its file names.
        let tools = task.has_agent().then(|| vec![ALL_TOOLS.to_owned(), task.agent.clone()]);
        let child = ChildSpec {
            tools,
            needs_agent: task.has_agent(),
            current_round: fixed.map(|(_, fixed)| self.named_reports(fixed)).unwrap_or_default(),
            previous_failure: task.previous_attempt.failure.clone(),
            revision: task.previous_attempt.revision.clone(),
            ..context.child_spec(&task.child_id(), task.description.clone(), places)
        };
        let spec = context.into_spec(child, BudgetShare { tool_calls, ..share });
        Some(RunSpec { arguments, ..spec })
    }
}
