//! What a model reads of an outcome.

use djinn_core::feedback::ASK_USER;
use djinn_core::settings::Language;
use djinn_core::tool::{ArgumentProblem, Arguments, Call, FailReason, Observation, Outcome, Shown};
use serde_json::json;

use super::plan::plan_text;
use crate::prompt::{self, Fragment, Prompts};

/// Characters of an error: with its frame it has its place under the prompt's cap.
const MAX_ERROR: usize = 10_000;

/// Whether what others wrote is framed where it stands, or with everything around it by who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frames {
    /// Where it stands.
    Own,
    /// With everything around it.
    Around,
}

/// What the model reads of an outcome, and of who changed its call.
pub(super) fn outcome_text(
    prompts: &Prompts,
    language: Language,
    call: &Call,
    outcome: &Outcome,
    frames: Frames,
) -> String {
    let text = bare_outcome_text(prompts, language, call, outcome, frames);
    match &call.changed {
        None => text,
        Some(changed) => {
            let values = json!({"text": changed});
            let changed = prompts.render(language, prompt::OUTCOME_CHANGED, values);
            format!("{text}\n\n{changed}")
        }
    }
}

fn bare_outcome_text(
    prompts: &Prompts,
    language: Language,
    call: &Call,
    outcome: &Outcome,
    frames: Frames,
) -> String {
    let bare = frames == Frames::Around;
    match outcome {
        Outcome::Done(Observation { shown: Shown::Plan { plan }, .. }) => {
            plan_text(prompts, language, plan, bare)
        }
        Outcome::Done(Observation { shown: Shown::UserAnswer, text, .. }) => {
            prompts.render(language, prompt::OUTCOME_USER_ANSWER, json!({"text": text}))
        }
        Outcome::Failed { reason: FailReason::Skipped, .. } if call.tool == ASK_USER => {
            prompts.render(language, prompt::OUTCOME_NO_ANSWER, ())
        }
        Outcome::Done(observation) => match &observation.whole {
            None => {
                let values = json!({"text": observation.text, "bare": bare});
                prompts.render(language, prompt::OUTCOME_DONE, values)
            }
            Some(whole) => {
                let values = json!({"text": observation.text, "shown": observation.text.chars().count(), "characters": whole.characters, "file": whole.file.as_str(), "bare": bare});
                prompts.render(language, prompt::OUTCOME_CUT, values)
            }
        },
        Outcome::Failed { reason: FailReason::BadPlan, detail } => {
            let problem: serde_json::Value = serde_json::from_str(detail).unwrap_or_default();
            prompts.render(language, prompt::OUTCOME_BAD_PLAN, problem)
        }
        Outcome::Failed { reason, detail } => {
            let problem = match &call.arguments {
                Arguments::Malformed { problem, .. } => problem_name(*problem),
                Arguments::Parsed(_) => "",
            };
            let is_error = *reason == FailReason::Error;
            let detail = prompt::cut(detail, if is_error { MAX_ERROR } else { usize::MAX });
            let values =
                json!({"tool": call.tool, "detail": detail, "problem": problem, "bare": bare});
            prompts.render(language, fragment_of(*reason), values)
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
    }
}

fn fragment_of(reason: FailReason) -> Fragment {
    match reason {
        FailReason::UnknownTool => prompt::OUTCOME_UNKNOWN_TOOL,
        FailReason::BadArguments => prompt::OUTCOME_BAD_ARGUMENTS,
        FailReason::BadPlan => prompt::OUTCOME_BAD_PLAN,
        FailReason::Error => prompt::OUTCOME_ERROR,
        FailReason::TimedOut => prompt::OUTCOME_TIMED_OUT,
        FailReason::Crashed => prompt::OUTCOME_CRASHED,
        FailReason::Uncertain => prompt::OUTCOME_UNCERTAIN,
        FailReason::TooMany => prompt::OUTCOME_TOO_MANY,
        FailReason::Stopped => prompt::OUTCOME_STOPPED,
        FailReason::Skipped => prompt::OUTCOME_SKIPPED,
        FailReason::Answered => prompt::OUTCOME_ANSWERED,
    }
}
