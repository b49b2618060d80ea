//! The scores of a verdict.

use djinn_core::id::Path;
use djinn_core::verdict::Score;
use serde::Serialize;

/// The score of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublicScore<'a> {
    /// The path of the child with the answer.
    child: String,
    /// The letter of the answer in the reasons.
    letter: char,
    /// The score, from 0 to 100.
    score: u8,
    /// The reason for the score, at most 1 000 bytes.
    reason: &'a str,
}

impl<'a> PublicScore<'a> {
    /// Creates the public form of a score in the run at this path.
    pub(super) fn new(score: &'a Score, path: &Path) -> Self {
        let Score { child, letter, score, reason } = score;
        let child = path.with_child(child.clone()).to_string();
        Self { child, letter: *letter, score: *score, reason }
    }
}
