//! Problems of a tool's file, with their location.

/// The reason why a tool's file is rejected: one sentence, with its line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{path}:{line}: {rule}")]
pub struct ToolFileProblem {
    /// The path of the file, as the caller gave it.
    pub path: String,
    /// The line in the file, counted from 1.
    pub line: usize,
    /// The problem, and the values that are allowed.
    pub rule: String,
}
