//! The check of a reply against the answer format of its agent's file.

use djinn_agents::check_answer;
use djinn_core::agent::AnswerFormat;
use djinn_core::effect::ModelCall;
use djinn_core::input::Reply;
use djinn_core::run::Run;

/// Returns the problem of a reply as the agent's answer. `None` for a valid answer, or a reply with tool
/// calls.
pub(super) fn find_answer_problem(run: &Run, call: &ModelCall, reply: &Reply) -> Option<String> {
    let AnswerFormat::Json(schema) = &run.spec().agent()?.answer else { return None };
    let is_answer = reply.calls.is_empty() && call.message.turn_number().is_some();
    let check_text = || match serde_json::from_str(reply.text.trim()) {
        Ok(value) => check_answer(schema, &value),
        Err(error) => Err(error.to_string()),
    };
    is_answer.then(check_text)?.err()
}
