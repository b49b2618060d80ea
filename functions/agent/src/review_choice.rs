//! The review of a question's answer.

use djinn_core::agent::AgentSpec;
use djinn_core::input::RunSpec;
use djinn_core::language::Language;
use djinn_core::review::{MAX_ROUNDS, ReviewPolicy};
use djinn_protocol::request::{ReviewRequest, ReviewerRequest, WholeNumber};
use djinn_runtime::question::find_reviewer_problem;
use djinn_runtime::world::Ports;
use djinn_text::near_miss::find_near_miss;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::api_error::ApiError;

/// The fields of a request about the review.
const REVIEW: &str = "review";
const REVIEW_AGENT: &str = "review.agent";
const REVIEW_ROUNDS: &str = "review.rounds";

/// The reviewer of a request that names none, for a mode without a reviewer.
const DEFAULT_REVIEWER: &str = "reviewer";
const DEFAULT_ROUNDS: u32 = 1;

/// Returns the part of a review that a repeated request must share.
pub(crate) fn describe_review(request: &ReviewRequest) -> Value {
    match request {
        ReviewRequest::Flag(flag) => json!(flag),
        ReviewRequest::Policy(ReviewerRequest { agent, rounds }) => {
            json!([agent, rounds.map(|WholeNumber(number)| number)])
        }
    }
}

/// Sets the review of a question with its mode: the request's, by default the mode's own.
///
/// # Errors
/// Returns `invalid_field` for rounds out of range, for an agent that cannot judge answers, and for a mode whose
/// answer cannot be revised.
pub(crate) fn set_review<P: Ports>(
    agent: &Agent<P>,
    spec: &mut RunSpec,
    request: Option<ReviewRequest>,
) -> Result<(), ApiError> {
    let own = spec.agent().and_then(|mode| mode.review.clone());
    let wanted = match request {
        None => {
            spec.review = own;
            return Ok(());
        }
        Some(ReviewRequest::Flag(false)) => return Ok(()),
        Some(ReviewRequest::Flag(true)) => ReviewerRequest { agent: None, rounds: None },
        Some(ReviewRequest::Policy(wanted)) => wanted,
    };
    let (agent_name, rounds) = match own {
        Some(ReviewPolicy { agent, rounds }) => (agent, rounds.max(DEFAULT_ROUNDS)),
        None => (DEFAULT_REVIEWER.to_owned(), DEFAULT_ROUNDS),
    };
    let rounds = match wanted.rounds {
        None => rounds,
        Some(WholeNumber(number)) => {
            let rounds = u32::try_from(number).ok().filter(|number| *number <= MAX_ROUNDS);
            let problem = || format!("must be a whole number from 0 to {MAX_ROUNDS}");
            rounds.ok_or_else(|| ApiError::invalid_field(REVIEW_ROUNDS, &problem()))?
        }
    };
    if rounds == 0 {
        return Ok(());
    }
    let reviewer = wanted.agent.unwrap_or(agent_name);
    check_reviewer(agent, &reviewer, spec.settings.language)?;
    if spec.agent().is_some_and(|mode| mode.after.is_some()) {
        let problem = "is not allowed, because a tool makes the answer of this mode";
        return Err(ApiError::invalid_field(REVIEW, problem));
    }
    spec.review = Some(ReviewPolicy { agent: reviewer, rounds });
    Ok(())
}

fn check_reviewer<P: Ports>(
    agent: &Agent<P>,
    reviewer: &str,
    language: Language,
) -> Result<(), ApiError> {
    let agents = agent.ports.tools().agents().iter();
    let agents: Vec<AgentSpec> = agents.filter_map(|tool| tool.agent(language)).collect();
    let problem = match agents.iter().find(|other| other.name == reviewer) {
        Some(found) => find_reviewer_problem(found)
            .map(|problem| format!("is `{reviewer}`, which cannot judge answers: {problem}")),
        None => {
            let names = agents.iter().map(|other| other.name.as_str());
            let hint = find_near_miss(reviewer, names);
            let hint = hint.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            Some(format!("is `{reviewer}`, which is not an agent{hint}"))
        }
    };
    problem.map_or(Ok(()), |problem| Err(ApiError::invalid_field(REVIEW_AGENT, &problem)))
}
