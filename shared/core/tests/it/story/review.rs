//! The lines of `review.txt` as inputs, and the runs whose answers are judged.

use djinn_core::input::{Input, RunSpec};
use djinn_core::review::ReviewPolicy;
use djinn_core::status::RunStatus;
use serde_json::json;

use crate::story::{self, human_requests, plan_solve, workflow};

fn reviewed(mut spec: RunSpec, rounds: u32) -> RunSpec {
    spec.settings.budget.steps = 6;
    RunSpec { review: Some(ReviewPolicy { agent: "reviewer".to_owned(), rounds }), ..spec }
}

/// A question with this many rounds, to ReAct.
pub(crate) fn asked_with_rounds(rounds: u32) -> RunSpec {
    reviewed(story::asked("why?"), rounds)
}

/// The question of most cases.
pub(crate) fn asked(_: &str) -> RunSpec {
    asked_with_rounds(2)
}

/// The same, to be planned.
pub(crate) fn asked_to_plan(question: &str) -> RunSpec {
    reviewed(story::asked_to_plan(question), 2)
}

/// The same, of a workflow.
pub(crate) fn asked_of_workflow(question: &str) -> RunSpec {
    reviewed(workflow::asked(question), 1)
}

pub(crate) fn input(line: &str) -> Input {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let verdict = |text: &str| ended(rest, RunStatus::Finished, text);
    match verb {
        "accepts" => {
            verdict(&json!({"verdict": "accept", "problems": [], "missing": []}).to_string())
        }
        "criticizes" => {
            let lists = json!({"verdict": "revise", "problems": ["Wrong."], "missing": ["Gold."]});
            verdict(&lists.to_string())
        }
        "babbles" => verdict("It is fine."),
        "fails" => ended(rest, RunStatus::Failed, ""),
        "stops" => ended(rest, RunStatus::Stopped, ""),
        "message" => human_requests::said("m1", "Be quick."),
        "ends" | "confirm" | "skip" => workflow::input(line),
        _ => plan_solve::input(line),
    }
}

/// The end of a review, which takes one turn.
fn ended(child: &str, status: RunStatus, text: &str) -> Input {
    let Input::ChildEnded(mut ended) = story::task_ended(child, status, text) else {
        unreachable!("an end is an end")
    };
    (ended.spent.steps, ended.spent.model_calls) = (1, 1);
    Input::ChildEnded(ended)
}
