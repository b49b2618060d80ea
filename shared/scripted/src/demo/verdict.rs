//! The critic of an ensemble: chooses the first answer.

use serde_json::{Value, json};

use super::question::{detect_language, question_text};
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

const GIVE_VERDICT: &str = "give_verdict";

/// The score of the chosen answer, and of each other answer.
const SCORES: [u64; 2] = [90, 80];

/// Responds to a request for a verdict.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    let tool = request.tools().iter().find(|tool| tool.name == GIVE_VERDICT)?;
    let choices = tool.schema.pointer("/properties/choice/enum")?.as_array()?;
    let is_letter = |choice: &&str| choice.len() == 1;
    let letters: Vec<&str> = choices.iter().filter_map(Value::as_str).filter(is_letter).collect();
    let choice = *letters.first()?;
    let words = detect_language(question_text(request));
    let score = |letter: &&str| {
        let is_chosen = **letter == *choice;
        let [best, other] = SCORES;
        let score = if is_chosen { best } else { other };
        json!({"letter": letter, "score": score, "reason": words.verdict_reason(is_chosen)})
    };
    let scores: Vec<Value> = letters.iter().map(score).collect();
    let arguments = json!({"scores": scores, "choice": choice});
    Some(ScriptedResponse::default().call(GIVE_VERDICT, arguments))
}
