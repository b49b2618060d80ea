//! The texts of users and tools in a run's requests. If a provider's error quotes such a text, the quote is
//! hidden.

use djinn_core::conversation::{ChildReport, ConversationItem};
use djinn_core::input::ChildSpec;
use djinn_core::run::Run;
use djinn_core::tool::{ResultView, ToolArguments, ToolCall, ToolFailure, ToolOutput, ToolResult};
use serde_json::Value;

/// Returns the texts of users, tools and files. Excludes our instructions and the texts of agents. Agents'
/// texts include earlier failures: the provider's words, and no secret.
pub(super) fn external_texts(run: &Run) -> Vec<String> {
    let spec = run.spec();
    let conversation = run.conversation();
    let mut texts = vec![spec.base_prompt.clone()];
    texts.extend(spec.user_texts().map(str::to_owned));
    texts.extend(run.files().all().iter().map(|file| file.description.clone()));
    texts.extend(conversation.history.iter().map(|exchange| exchange.question.clone()));
    texts.extend(run.user_plan_texts().map(ToOwned::to_owned));
    if let Some(child) = &spec.child {
        // A user may have written the step.
        texts.push(child.description.clone());
        texts.extend(child.reports().map(|report| report.description.clone()));
        texts.extend(child.reports().filter_map(report_text));
        texts.extend(redo_texts(child));
    }
    for item in &conversation.items {
        match item {
            ConversationItem::Turn(turn) => {
                texts.extend(turn.calls.iter().filter_map(|(_, outcome)| result_text(outcome)));
                turn.calls.iter().for_each(|(call, _)| collect_changed(call, &mut texts));
            }
            ConversationItem::UserMessage(text) => texts.push(text.clone()),
            // Users' texts in the plan were added above.
            ConversationItem::PlanEdited(change) => texts.push(change.comment.clone()),
            ConversationItem::Round { reports, .. } => {
                texts.extend(reports.iter().filter_map(report_text));
                texts.extend(reports.iter().filter_map(|report| report.edit_comment.clone()));
            }
            // Agents wrote the answer and its judgement.
            ConversationItem::Nudge(_) | ConversationItem::Review(_) => {}
        }
    }
    texts.retain(|text| !text.is_empty());
    texts
}

fn result_text(outcome: &ToolResult) -> Option<String> {
    match outcome {
        ToolResult::Done(ToolOutput { view: ResultView::Plan { .. }, .. })
        | ToolResult::PlanRefused { .. } => None,
        ToolResult::Done(observation) => Some(observation.text.clone()),
        ToolResult::Failed { reason, detail } => match reason {
            ToolFailure::Error | ToolFailure::Skipped | ToolFailure::Answered => {
                Some(detail.clone())
            }
            ToolFailure::UnknownTool
            | ToolFailure::Changed
            | ToolFailure::BadArguments
            | ToolFailure::TimedOut
            | ToolFailure::Crashed
            | ToolFailure::Uncertain
            | ToolFailure::TooMany
            | ToolFailure::TooDeep
            | ToolFailure::Untrusted
            | ToolFailure::Unanswered
            | ToolFailure::Stopped => None,
        },
    }
}

/// Adds the texts of a user's edit to a call.
fn collect_changed(call: &ToolCall, texts: &mut Vec<String>) {
    let Some(comment) = &call.edit_comment else { return };
    texts.push(comment.clone());
    if let ToolArguments::Parsed(arguments) = &call.arguments {
        arguments.values().for_each(|value| collect_strings(value, texts));
    }
}

fn collect_strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, texts)),
        Value::Object(members) => {
            members.values().for_each(|member| collect_strings(member, texts));
        }
        _ => {}
    }
}

/// Returns the text of a child's report; the reason of a failure is no secret.
fn report_text(report: &ChildReport) -> Option<String> {
    (report.done || report.skipped).then(|| report.text.clone())
}

fn redo_texts(child: &ChildSpec) -> Vec<String> {
    let redo = child.revision.iter();
    redo.flat_map(|redo| [redo.previous_result.clone(), redo.instructions.clone()]).collect()
}

#[cfg(test)]
mod tests {
    use djinn_core::id::{CallId, MessageId};
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_call_that_a_person_changed_all_texts_are_theirs() {
        let arguments = json!({"to": ["boss", {"cc": "Anna"}], "copies": 2, "urgent": true});
        let mut call = ToolCall {
            id: CallId::nth_of(&MessageId::for_turn(1), 1),
            tool: "send".to_owned(),
            arguments: ToolArguments::Parsed(arguments.as_object().cloned().unwrap_or_default()),
            edit_comment: None,
        };
        let texts = |call: &ToolCall| {
            let mut texts = Vec::new();
            collect_changed(call, &mut texts);
            texts
        };
        assert!(texts(&call).is_empty());
        call.edit_comment = Some("Not to all.".to_owned());
        let mut found = texts(&call);
        found.sort();
        assert_eq!(found, ["Anna", "Not to all.", "boss"]);
    }
}
