//! Results that end an agent.

use crate::tool::{ResultView, ToolCall, ToolResult};

/// The separator of the results of several calls in the answer.
const SEPARATOR: &str = "\n\n";

/// Returns true for the result of a tool. A user's response is not the result of a tool.
pub(super) fn is_tool_result(result: &ToolResult) -> bool {
    matches!(result, ToolResult::Done(output) if output.view != ResultView::UserAnswer)
}

/// Returns the texts of the turn's calls of the tools in `stop_at`, in the order of the reply. `None` if the
/// turn has no such call, if one of these calls failed, or if all texts are blank.
pub(super) fn join_answers(calls: &[(ToolCall, ToolResult)], stop_at: &[String]) -> Option<String> {
    let stopping = calls.iter().filter(|(call, _)| stop_at.contains(&call.tool));
    let texts: Option<Vec<&str>> = stopping
        .map(|(_, result)| match result {
            ToolResult::Done(output) => Some(output.text.trim_end()),
            ToolResult::Failed { .. } | ToolResult::PlanRefused { .. } => None,
        })
        .collect();
    let texts: Vec<&str> = texts?.into_iter().filter(|text| !text.trim().is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join(SEPARATOR))
}
