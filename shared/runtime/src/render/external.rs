//! What of a run's requests users and tools wrote: what a provider quotes of it is shown to nobody.

use djinn_core::conversation::Item;
use djinn_core::input::{TaskAsked, TaskReport};
use djinn_core::run::Run;
use djinn_core::tool::{Arguments, Call, FailReason, Observation, Outcome, Shown};
use serde_json::Value;

/// The texts of users, tools and files. Our own instructions are none of them, nor is what agents said:
/// among it are the reasons of earlier failures, which are the provider's words and no secret.
pub(super) fn texts(run: &Run) -> Vec<String> {
    let (asked, conversation) = (run.asked(), run.conversation());
    let mut texts = vec![asked.question.clone(), asked.base_prompt.clone()];
    texts.extend(run.files().all().iter().map(|file| file.description.clone()));
    texts.extend(conversation.history.iter().map(|exchange| exchange.question.clone()));
    texts.extend(run.plan_words().map(ToOwned::to_owned));
    if let Some(task) = &asked.task {
        // A person may have written the step.
        texts.push(task.words.clone());
        texts.extend(task.reports().map(|report| report.words.clone()));
        texts.extend(task.reports().filter_map(of_report));
        texts.extend(of_redo(task));
    }
    for item in &conversation.items {
        match item {
            Item::Turn(turn) => {
                texts.extend(turn.calls.iter().filter_map(|(_, outcome)| of_outcome(outcome)));
                turn.calls.iter().for_each(|(call, _)| of_change(call, &mut texts));
            }
            Item::Said(text) => texts.push(text.clone()),
            Item::Round { reports, .. } => texts.extend(reports.iter().filter_map(of_report)),
            Item::Note(_) => {}
        }
    }
    texts.retain(|text| !text.is_empty());
    texts
}

fn of_outcome(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Done(Observation { shown: Shown::Plan { .. }, .. }) => None,
        Outcome::Done(observation) => Some(observation.text.clone()),
        Outcome::Failed { reason, detail } => match reason {
            FailReason::Error | FailReason::Skipped | FailReason::Answered => Some(detail.clone()),
            FailReason::UnknownTool
            | FailReason::BadArguments
            | FailReason::BadPlan
            | FailReason::TimedOut
            | FailReason::Crashed
            | FailReason::Uncertain
            | FailReason::TooMany
            | FailReason::Stopped => None,
        },
    }
}

/// What a person made of a call before it was made.
fn of_change(call: &Call, texts: &mut Vec<String>) {
    let Some(comment) = &call.changed else { return };
    texts.push(comment.clone());
    if let Arguments::Parsed(arguments) = &call.arguments {
        arguments.values().for_each(|value| of_value(value, texts));
    }
}

fn of_value(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| of_value(item, texts)),
        Value::Object(members) => members.values().for_each(|member| of_value(member, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a task brought; why one failed is no secret.
fn of_report(report: &TaskReport) -> Option<String> {
    (report.done || report.left_out).then(|| report.text.clone())
}

fn of_redo(task: &TaskAsked) -> Vec<String> {
    let redo = task.redo.iter();
    redo.flat_map(|redo| [redo.result.clone(), redo.words.clone()]).collect()
}

#[cfg(test)]
mod tests {
    use djinn_core::id::{CallId, MessageId};
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_call_that_a_person_changed_all_texts_are_theirs() {
        let arguments = json!({"to": ["boss", {"cc": "Anna"}], "copies": 2, "urgent": true});
        let mut call = Call {
            id: CallId::nth(&MessageId::turn(1), 1),
            tool: "send".to_owned(),
            arguments: Arguments::Parsed(arguments.as_object().cloned().unwrap_or_default()),
            changed: None,
        };
        let texts = |call: &Call| {
            let mut texts = Vec::new();
            of_change(call, &mut texts);
            texts
        };
        assert!(texts(&call).is_empty());
        call.changed = Some("Not to all.".to_owned());
        let mut found = texts(&call);
        found.sort();
        assert_eq!(found, ["Anna", "Not to all.", "boss"]);
    }
}
