//! Tool results as read by a model.

use djinn_core::file::ProductFile;
use djinn_core::human::ASK_USER;
use djinn_core::language::Language;
use djinn_core::tool::{
    ArgumentProblem, ResultView, ToolArguments, ToolCall, ToolFailure, ToolOutput, ToolResult,
};
use serde_json::json;

use super::plan::plan_text;
use crate::prompt::{self, Fragment, Prompts};

/// The maximum characters of an error: with its frame, the error fits the prompt's cap.
const MAX_ERROR: usize = 10_000;

/// The place of the untrusted frame around foreign text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// A frame around each text.
    Each,
    /// No frame here: the caller frames the whole text.
    Enclosing,
}

/// Renders a tool result, with a note about a user's edit to the call.
pub(super) fn tool_result_text(
    prompts: &Prompts,
    language: Language,
    call: &ToolCall,
    outcome: &ToolResult,
    frames: Framing,
) -> String {
    let text = unchanged_result_text(prompts, language, call, outcome, frames);
    let text = match outcome {
        ToolResult::Done(ToolOutput { images, .. }) if !images.is_empty() => {
            let bare = frames == Framing::Enclosing;
            let values = json!({"text": text, "files": file_names(images), "bare": bare});
            prompts.render(language, prompt::OUTCOME_IMAGES, values)
        }
        ToolResult::Done(_) | ToolResult::Failed { .. } | ToolResult::PlanRefused { .. } => text,
    };
    match &call.edit_comment {
        None => text,
        Some(comment) => {
            let values = json!({"text": comment});
            let note = prompts.render(language, prompt::OUTCOME_CHANGED, values);
            format!("{text}\n\n{note}")
        }
    }
}

/// Returns the names of files as a comma-separated list.
pub(super) fn file_names<'a>(files: impl IntoIterator<Item = &'a ProductFile>) -> String {
    files.into_iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn unchanged_result_text(
    prompts: &Prompts,
    language: Language,
    call: &ToolCall,
    outcome: &ToolResult,
    frames: Framing,
) -> String {
    let bare = frames == Framing::Enclosing;
    match outcome {
        ToolResult::Done(ToolOutput { view: ResultView::Plan { plan }, .. }) => {
            plan_text(prompts, language, plan, bare)
        }
        ToolResult::Done(ToolOutput { view: ResultView::UserAnswer, text, .. }) => {
            prompts.render(language, prompt::OUTCOME_USER_ANSWER, json!({"text": text}))
        }
        ToolResult::Failed { reason: ToolFailure::Skipped | ToolFailure::Unanswered, .. }
            if call.tool == ASK_USER =>
        {
            prompts.render(language, prompt::OUTCOME_NO_ANSWER, ())
        }
        ToolResult::Done(observation) => match &observation.full_output {
            None => {
                let values = json!({"text": observation.text, "bare": bare});
                prompts.render(language, prompt::OUTCOME_DONE, values)
            }
            Some(whole) => {
                let values = json!({"text": observation.text, "shown": observation.text.chars().count(), "characters": whole.characters, "file": whole.file.as_str(), "bare": bare});
                prompts.render(language, prompt::OUTCOME_CUT, values)
            }
        },
        ToolResult::PlanRefused { error } => {
            prompts.render(language, prompt::OUTCOME_BAD_PLAN, error)
        }
        ToolResult::Failed { reason, detail } => {
            let problem = match &call.arguments {
                ToolArguments::Malformed { problem, .. } => problem_name(*problem),
                ToolArguments::Parsed(_) => "",
            };
            let is_error = *reason == ToolFailure::Error;
            let detail =
                prompt::truncate_text(detail, if is_error { MAX_ERROR } else { usize::MAX });
            let values =
                json!({"tool": call.tool, "detail": detail, "problem": problem, "bare": bare});
            prompts.render(language, failure_fragment(*reason), values)
        }
    }
}

fn problem_name(problem: ArgumentProblem) -> &'static str {
    match problem {
        ArgumentProblem::NotJson => "not_json",
        ArgumentProblem::NotAnObject => "not_an_object",
        ArgumentProblem::CutOff => "cut_off",
        ArgumentProblem::TooLong => "too_long",
        ArgumentProblem::Refused => "refused",
        ArgumentProblem::WrittenAsText => "written_as_text",
    }
}

fn failure_fragment(reason: ToolFailure) -> Fragment {
    match reason {
        ToolFailure::UnknownTool => prompt::OUTCOME_UNKNOWN_TOOL,
        ToolFailure::Changed => prompt::OUTCOME_TOOL_CHANGED,
        ToolFailure::BadArguments => prompt::OUTCOME_BAD_ARGUMENTS,
        ToolFailure::Error => prompt::OUTCOME_ERROR,
        ToolFailure::TimedOut => prompt::OUTCOME_TIMED_OUT,
        ToolFailure::Crashed => prompt::OUTCOME_CRASHED,
        ToolFailure::Uncertain => prompt::OUTCOME_UNCERTAIN,
        ToolFailure::TooMany => prompt::OUTCOME_TOO_MANY,
        ToolFailure::TooDeep => prompt::OUTCOME_TOO_DEEP,
        ToolFailure::Untrusted => prompt::OUTCOME_UNTRUSTED,
        ToolFailure::Stopped => prompt::OUTCOME_STOPPED,
        ToolFailure::Skipped => prompt::OUTCOME_SKIPPED,
        ToolFailure::Unanswered => prompt::OUTCOME_UNANSWERED,
        ToolFailure::Answered => prompt::OUTCOME_ANSWERED,
    }
}
