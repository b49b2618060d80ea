//! Calls of the planning tool, which only change the run's own plan and run at once.

use crate::plan::{PLANNING_TOOL, Plan, PlanCommand};
use crate::tool::{ResultView, ToolArguments, ToolCall, ToolOutput, ToolResult};

/// Returns true if a call creates a run's first plan.
pub(super) fn is_plan_creation(call: &ToolCall, max_steps: usize) -> bool {
    let mut plan = None;
    run_plan_command(call, &mut plan, max_steps, &mut false).is_some() && plan.is_some()
}

/// Runs a call of the planning tool; `None` for a call of another tool.
pub(super) fn run_plan_command(
    call: &ToolCall,
    plan: &mut Option<Plan>,
    max_steps: usize,
    is_done: &mut bool,
) -> Option<ToolResult> {
    let ToolArguments::Parsed(arguments) = &call.arguments else { return None };
    if call.tool != PLANNING_TOOL {
        return None;
    }
    let result = PlanCommand::parse(arguments).and_then(|command| {
        *is_done |= command == PlanCommand::Finish && plan.is_some();
        command.apply_to(plan.as_ref(), max_steps)
    });
    Some(match result {
        Ok(changed) => {
            *plan = Some(changed.clone());
            let view = ResultView::Plan { plan: changed };
            ToolResult::Done(ToolOutput { view, ..ToolOutput::from_text("") })
        }
        Err(error) => ToolResult::PlanRefused { error },
    })
}
