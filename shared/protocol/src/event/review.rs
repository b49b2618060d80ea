//! The public form of a review's result.

use djinn_core::entry::ReviewResult;
use djinn_core::id::Path;
use serde::Serialize;

use super::PublicFailure;

/// The judgement of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicReview<'a> {
    /// The path of the child run that judged the answer.
    pub child: String,
    /// The number of the review, from 1.
    pub round: u32,
    /// True if the answer becomes final. False if the agent revises the answer, or if the answer stays without
    /// being accepted.
    pub accepted: bool,
    /// The faults of the answer, most serious first; at most 20.
    pub problems: &'a [String],
    /// The parts of the question without an answer; at most 20.
    pub missing: &'a [String],
    /// The id of the message with the answer; absent if no model wrote the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The failure of the reviewer, after which the answer stays without being judged; absent after a
    /// judgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<PublicFailure<'a>>,
}

impl<'a> PublicReview<'a> {
    /// Returns the public form of a review of the run at this path.
    #[must_use]
    pub fn new(result: &'a ReviewResult, path: &Path) -> Self {
        let ReviewResult { child, round, accepted, problems, missing, message, failure } = result;
        Self {
            child: path.with_child(child.clone()).to_string(),
            round: *round,
            accepted: *accepted,
            problems,
            missing,
            message: message.as_ref().map(ToString::to_string),
            failure: failure.as_ref().map(PublicFailure::new),
        }
    }
}
