//! The lines of `top_up.txt` as inputs, and the run that they are told to.

use djinn_core::human::{HumanResponse, TimeoutAction};
use djinn_core::input::{Input, RunSpec};
use serde_json::json;

use crate::story::human_requests::{self, answered, asked_with_approval};

pub(crate) fn asked(question: &str) -> RunSpec {
    let mut asked = asked_with_approval(question);
    asked.settings.budget.tokens = 200;
    asked.settings.budget.steps = 10;
    asked.settings.human.on_timeout = TimeoutAction::Confirm;
    asked
}

pub(crate) fn input(line: &str) -> Input {
    let Some(rest) = line.strip_prefix("give ") else { return human_requests::input(line) };
    let (tokens, request) = rest.split_once(' ').unwrap();
    let tokens: u64 = tokens.parse().unwrap();
    let arguments = json!({"tokens": tokens}).as_object().unwrap().clone();
    Input::HumanResponded(Box::new(answered(request, HumanResponse::Modify { arguments })))
}
