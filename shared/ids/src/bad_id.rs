//! Why a text is not an id.

/// Why a text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be {rule}")]
pub struct BadId {
    /// What was being read, in the words of the API: `session id`, `file name`.
    pub what: &'static str,
    /// What it must look like.
    pub rule: &'static str,
}
