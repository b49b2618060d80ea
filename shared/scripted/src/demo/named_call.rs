//! A question with a named call, `working_days {"from": "2026-12-01"}`. The call is made, and its result is
//! the answer. So a custom tool can be tried without a model.

use serde_json::{Deserializer, Value};

use super::question::{detect_language, question_text};
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

/// Makes the call named in the question, or answers with its result.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    let question = question_text(request);
    // The first offered tool named in the question and followed by a JSON object.
    let names = request.tools().iter().map(|tool| tool.name.as_str());
    let mut offered = names.filter(|name| request.offers_tool(name));
    let (tool, arguments) = offered.find_map(|name| {
        let arguments = question.match_indices(name).find_map(|(at, name)| {
            let rest = question.get(at + name.len()..)?.trim_start();
            let object = rest.starts_with('{').then_some(rest)?;
            Deserializer::from_str(object).into_iter::<Value>().next()?.ok()
        })?;
        Some((name, arguments))
    })?;
    let words = detect_language(question);
    let results = request.answered_calls().filter(|(call, _)| call.tool == tool);
    Some(match results.last() {
        None => ScriptedResponse::default().say(words.calling_notice(tool)).call(tool, arguments),
        Some((_, result)) => ScriptedResponse::default().reply(words.tool_answer(&result.text)),
    })
}
