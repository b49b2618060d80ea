//! The lines of `confirm.txt` as inputs, and the run that they are told to.

use djinn_core::human::HumanResponse;
use djinn_core::input::{Input, RunSpec};
use serde_json::{Map, Value, json};

use crate::story::human_requests::answered;
use crate::story::{self, human_requests, plan_solve};

pub(crate) fn asked(question: &str) -> RunSpec {
    let mut asked = story::asked_to_plan(question);
    asked.settings.human.confirm_steps = ["Publish".to_owned()].into();
    asked.settings.human.confirm_results = true;
    asked
}

pub(crate) fn input(line: &str) -> Input {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    match verb {
        "plans" | "task_done" | "task_failed" => plan_solve::input(line),
        "reword" => {
            let arguments = one("details", "b, and quietly");
            Input::HumanResponded(Box::new(answered(rest, HumanResponse::Modify { arguments })))
        }
        _ => human_requests::input(line),
    }
}

pub(crate) fn one(name: &str, text: &str) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), json!(text))])
}
