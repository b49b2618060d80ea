//! What a model reads of an outcome.

use djinn_core::settings::Language;
use djinn_core::tool::{ArgumentProblem, Arguments, Call, FailReason, Observation, Outcome, Shown};
use serde_json::json;

use super::plan::plan_text;
use crate::prompt::{self, Fragment, Prompts};

/// What the model reads of an outcome.
pub(super) fn outcome_text(
    prompts: &Prompts,
    language: Language,
    call: &Call,
    outcome: &Outcome,
) -> String {
    match outcome {
        Outcome::Done(Observation { shown: Shown::Plan { plan }, .. }) => {
            plan_text(prompts, language, plan)
        }
        Outcome::Done(observation) => match &observation.whole {
            None => {
                prompts.render(language, prompt::OUTCOME_DONE, json!({"text": observation.text}))
            }
            Some(whole) => {
                let values = json!({"text": observation.text, "shown": observation.text.chars().count(), "characters": whole.characters, "file": whole.file.as_str()});
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
            let values = json!({"tool": call.tool, "detail": detail, "problem": problem});
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
        FailReason::Repeated => prompt::OUTCOME_REPEATED,
        FailReason::TooMany => prompt::OUTCOME_TOO_MANY,
        FailReason::Stopped => prompt::OUTCOME_STOPPED,
        FailReason::Skipped => prompt::OUTCOME_SKIPPED,
        FailReason::Answered => prompt::OUTCOME_ANSWERED,
    }
}
