//! Problems of a deployment's files, with their location.

/// The reason why an agent's file or a prompt is rejected: one sentence, with its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {rule}")]
pub struct FileProblem {
    /// The path of the file, as the caller gave it.
    pub path: String,
    /// The line in the file, counted from 1.
    pub line: usize,
    /// The problem, and the values that are allowed.
    pub rule: String,
}

/// A problem of a file whose path is added later.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The line in the file, counted from 1.
    pub(crate) line: usize,
    /// The problem, and the values that are allowed.
    pub(crate) rule: String,
}

impl Fault {
    /// Creates a fault in a line.
    pub(crate) fn new(line: usize, rule: impl Into<String>) -> Self {
        Self { line, rule: rule.into() }
    }

    /// Returns the problem with the path of its file.
    pub(crate) fn into_problem(self, path: &str) -> FileProblem {
        FileProblem { path: path.to_owned(), line: self.line, rule: self.rule }
    }
}

/// Maximum characters of a quoted text.
const MAX_QUOTED: usize = 60;

/// Quotes a text of the file: in one line, cut to the maximum length.
pub(crate) fn quote(text: &str) -> String {
    let escaped_text: String = text.chars().take(MAX_QUOTED).flat_map(char::escape_debug).collect();
    // Quotes need no escape between backticks.
    let plain = escaped_text.replace("\\\"", "\"").replace("\\'", "'");
    let mark = if text.chars().nth(MAX_QUOTED).is_some() { "…" } else { "" };
    format!("`{plain}{mark}`")
}
