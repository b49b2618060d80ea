//! The problems of a `djinn.toml`.

/// A problem in a file, or in a variable that overrides a field of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct FieldProblem {
    /// The problem as a sentence, with the place first: `djinn.toml:12: limits.max_steps must be …`. It never
    /// contains the value of a secret.
    pub sentence: String,
    /// The line in the file, from 1; `None` for a variable.
    pub line: Option<usize>,
}

impl FieldProblem {
    pub(super) fn in_file(file: &str, line: usize, problem: impl AsRef<str>) -> Self {
        Self { sentence: format!("{file}:{line}: {}", problem.as_ref()), line: Some(line) }
    }

    pub(super) fn in_variable(sentence: String) -> Self {
        Self { sentence, line: None }
    }
}

/// Returns the line of a byte in a text, from 1.
#[must_use]
pub fn line_at(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}
