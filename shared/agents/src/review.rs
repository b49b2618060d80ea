//! The key `review` of a mode or a workflow, and the agents that can judge answers.

use djinn_core::agent::{ANSWER_ARGUMENT, AgentSpec, AnswerFormat};
use djinn_core::review::{
    ACCEPT, MAX_ROUNDS, PROBLEMS_FIELD, QUESTION_ARGUMENT, ReviewPolicy, VERDICT_FIELD,
};
use djinn_text::near_miss::find_near_miss;
use serde_json::Value;

use crate::fields::{Fields, refuse_entry};
use crate::parameters::properties_of;
use crate::problem::{Fault, quote};
use crate::yaml::Content;

/// The keys of a review.
const KEYS: [&str; 2] = ["agent", "rounds"];

/// The rounds of a review that sets none.
const DEFAULT_ROUNDS: u32 = 1;

/// Returns the review in a file.
pub(crate) fn read_review(fields: &Fields) -> Result<Option<ReviewPolicy>, Fault> {
    let Some(entry) = fields.find_entry("review") else { return Ok(None) };
    let Content::Mapping(entries) = &entry.node.content else {
        return Err(refuse_entry(entry, "a mapping with `agent` and `rounds`"));
    };
    if let Some(unknown) = entries.iter().find(|entry| !KEYS.contains(&entry.key.as_str())) {
        let hint = match find_near_miss(&unknown.key, KEYS) {
            Some(near_miss) => format!("did you mean `{near_miss}`?"),
            None => "there are `agent` and `rounds`".to_owned(),
        };
        let rule = format!("{} is not a key of `review`: {hint}", quote(&unknown.key));
        return Err(Fault::new(unknown.line, rule));
    }
    let own = Fields::new(entries.clone());
    let Some(agent) = own.read_text("agent", "the name of an agent")? else {
        let rule = "`review` has no `agent`: the name of an agent is expected";
        return Err(Fault::new(entry.line, rule));
    };
    let rounds = own.read_number("rounds", 0..=MAX_ROUNDS)?.unwrap_or(DEFAULT_ROUNDS);
    Ok(Some(ReviewPolicy { agent: agent.to_owned(), rounds }))
}

/// Returns the reason why an agent cannot judge answers, or `None` if it can.
#[must_use]
pub fn find_reviewer_problem(agent: &AgentSpec) -> Option<String> {
    let properties = properties_of(&agent.parameters);
    let takes = |name: &str| properties.is_some_and(|all| all.contains_key(name));
    let required = agent.parameters.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let mut others = required.filter(|name| ![QUESTION_ARGUMENT, ANSWER_ARGUMENT].contains(name));
    if !takes(QUESTION_ARGUMENT) || !takes(ANSWER_ARGUMENT) || others.next().is_some() {
        return Some("its `parameters` must be `question` and `answer`".to_owned());
    }
    let AnswerFormat::Json(schema) = &agent.answer else {
        return Some("it has no `answer_schema`".to_owned());
    };
    let field = |name: &str| schema.get("properties").and_then(|all| all.get(name));
    let is_verdict = |verdict: &Value| {
        let words = verdict.get("enum").and_then(Value::as_array);
        let has_words = words.is_some_and(|all| all.len() > 1 && all.iter().any(|w| w == ACCEPT));
        has_words || verdict.get("type").is_some_and(|kind| kind == "boolean")
    };
    if !field(VERDICT_FIELD).is_some_and(is_verdict) {
        let rule =
            "its `answer_schema` must have a `verdict`: a boolean, or several words with `accept`";
        return Some(rule.to_owned());
    }
    let is_list = |list: &Value| list.get("type").is_some_and(|kind| kind == "array");
    if !field(PROBLEMS_FIELD).is_some_and(is_list) {
        return Some("its `answer_schema` must have `problems`: a list of texts".to_owned());
    }
    None
}

/// Returns the problem of the reviewer with this name, or `None` if the agent can judge answers.
pub(crate) fn check_review<'a>(
    policy: &ReviewPolicy,
    find: impl Fn(&str) -> Option<&'a AgentSpec>,
    names: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let name = quote(&policy.agent);
    let Some(agent) = find(&policy.agent).filter(|agent| !agent.machine.has_workflow()) else {
        let hint = find_near_miss(&policy.agent, names)
            .map(|near_miss| format!(": did you mean `{near_miss}`?"))
            .unwrap_or_default();
        return Some(format!("`review` names {name}, which is not an agent{hint}"));
    };
    let problem = find_reviewer_problem(agent)?;
    Some(format!("`review` names {name}, which cannot judge answers: {problem}"))
}
