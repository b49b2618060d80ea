//! The reasons for which a schema cannot be used.

use crate::text::clean_text;

/// Maximum characters of foreign text in a problem.
const MAX_QUOTE: usize = 200;

/// The reason for which a schema cannot be used. Each is a sentence for the operator who added the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaProblem {
    /// The schema is nested beyond the limit of its own text.
    #[error("the schema is nested too deeply")]
    TooDeep,
    /// The schema, or its shown form, is beyond a limit.
    #[error("the schema is too large")]
    TooLarge,
    /// A `$ref` that leads outside; schemas are never fetched.
    #[error("`{0}` leads outside the schema; only references that begin with `#` are supported")]
    RemoteReference(String),
    /// A `$ref` without a target.
    #[error("`{0}` has no target in the schema")]
    MissingTarget(String),
    /// The arguments of a tool are an object, and this schema allows none.
    #[error("the schema must allow an object")]
    NotAnObject,
    /// JSON that is no JSON Schema, with the problem and its place.
    #[error("the schema is invalid: {0}")]
    Invalid(String),
}

impl SchemaProblem {
    pub(crate) fn remote_reference(reference: &str) -> Self {
        Self::RemoteReference(clean_text(reference, MAX_QUOTE))
    }

    pub(crate) fn missing_target(reference: &str) -> Self {
        Self::MissingTarget(clean_text(reference, MAX_QUOTE))
    }

    pub(crate) fn invalid(pointer: &str, problem: &str) -> Self {
        let place = if pointer.is_empty() { "the root" } else { pointer };
        Self::Invalid(clean_text(&format!("{place}: {problem}"), MAX_QUOTE))
    }
}
