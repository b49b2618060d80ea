//! The router: greets, and hands every other question over.

use serde_json::json;

use super::question::{detect_language, question_text};
use crate::request::RecordedRequest;
use crate::response::ScriptedResponse;

const REACT: &str = "react";
const PLAN_SOLVE: &str = "plan_solve";

/// Words in lower case that begin a greeting.
const GREETINGS: &[&str] = &["hello", "hi", "hey", "thanks", "thank you", "你好", "您好", "谢谢"];

/// Words in lower case that mark a question with several parts.
const SEVERAL: &[&str] = &["compar", "each", "比较", "对比", "分别"];

/// Responds to a request that can hand over to both modes.
pub(super) fn respond(request: &RecordedRequest) -> Option<ScriptedResponse> {
    let next_agents = [REACT, PLAN_SOLVE];
    if !next_agents.iter().all(|agent| request.offers_tool(agent)) {
        return None;
    }
    let question = question_text(request);
    let lower = question.to_lowercase();
    let is_greeting = GREETINGS.iter().any(|greeting| {
        let rest = lower.trim_start().strip_prefix(greeting);
        rest.is_some_and(|rest| rest.chars().all(|c| !c.is_alphanumeric()))
    });
    if is_greeting {
        return Some(ScriptedResponse::default().reply(detect_language(question).greeting()));
    }
    let has_parts = SEVERAL.iter().any(|word| lower.contains(word));
    let next = if has_parts { PLAN_SOLVE } else { REACT };
    Some(ScriptedResponse::default().call(next, json!({})))
}
