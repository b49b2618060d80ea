//! The error for a text that is not an id.

/// The reason why a text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be {rule}")]
pub struct BadId {
    /// The kind of id, in the words of the API: `session id`, `file name`.
    pub what: &'static str,
    /// The rule for an id of this kind.
    pub rule: &'static str,
}
