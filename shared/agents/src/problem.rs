//! What is wrong with a file of a deployment, and where.

/// Why a file of an agent or a prompt is refused: one sentence, with the line that it is about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {rule}")]
pub struct FileProblem {
    /// The file's path, as it was given.
    pub path: String,
    /// The line in the file, counted from 1.
    pub line: usize,
    /// What was found, and what may stand there.
    pub rule: String,
}

/// A problem of a file whose path is said later.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The line in the file, counted from 1.
    pub(crate) line: usize,
    /// What was found, and what may stand there.
    pub(crate) rule: String,
}

impl Fault {
    /// A fault in a line.
    pub(crate) fn new(line: usize, rule: impl Into<String>) -> Self {
        Self { line, rule: rule.into() }
    }

    /// The problem, with the path of its file.
    pub(crate) fn into_problem(self, path: &str) -> FileProblem {
        FileProblem { path: path.to_owned(), line: self.line, rule: self.rule }
    }
}

/// The most characters of a text that a sentence quotes.
const MAX_QUOTED: usize = 60;

/// A text of the file as a sentence quotes it: in one line, and not too long.
pub(crate) fn quote(text: &str) -> String {
    let escaped: String = text.chars().take(MAX_QUOTED).flat_map(char::escape_debug).collect();
    // Quotes need no escape between backticks.
    let plain = escaped.replace("\\\"", "\"").replace("\\'", "'");
    let mark = if text.chars().nth(MAX_QUOTED).is_some() { "…" } else { "" };
    format!("`{plain}{mark}`")
}
