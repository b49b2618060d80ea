//! What of a run's requests users and tools wrote: what a provider quotes of it is shown to nobody.

use djinn_core::conversation::Item;
use djinn_core::input::{TaskAsked, TaskReport};
use djinn_core::run::Run;
use djinn_core::tool::{FailReason, Observation, Outcome, Shown};

/// The texts of users, tools and files. Our own instructions are none of them, nor is what agents said:
/// among it are the reasons of earlier failures, which are the provider's words and no secret.
pub(super) fn texts(run: &Run) -> Vec<String> {
    let (asked, conversation) = (run.asked(), run.conversation());
    let mut texts = vec![asked.question.clone(), asked.base_prompt.clone()];
    texts.extend(run.files().all().iter().map(|file| file.description.clone()));
    texts.extend(conversation.history.iter().map(|exchange| exchange.question.clone()));
    if let Some(task) = &asked.task {
        texts.extend(task.reports().filter_map(of_report));
        texts.extend(of_redo(task));
    }
    for item in &conversation.items {
        match item {
            Item::Turn(turn) => {
                texts.extend(turn.calls.iter().filter_map(|(_, outcome)| of_outcome(outcome)));
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

/// What a task brought; why one failed is no secret.
fn of_report(report: &TaskReport) -> Option<String> {
    (report.done || report.left_out).then(|| report.text.clone())
}

fn of_redo(task: &TaskAsked) -> Vec<String> {
    let redo = task.redo.iter();
    redo.flat_map(|redo| [redo.result.clone(), redo.words.clone()]).collect()
}
