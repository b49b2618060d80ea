//! Whether a run has read text that anybody may have written.

use super::PLAN_FILE;
use crate::conversation::Exchange;
use crate::file::ProductFile;
use crate::input::RunSpec;

/// Whether a run begins with what others have read, and with what they left: in the names and
/// descriptions of files that it did not write, in a question of the session that somebody else asked
/// and its answer, or in an answer that came of such text.
pub(super) fn is_tainted_at_start(spec: &RunSpec) -> bool {
    let is_of_others = |earlier: &Exchange| earlier.tainted || !earlier.is_asked_by(&spec.user);
    match &spec.child {
        // Its run knows what it is told.
        Some(child) => child.tainted,
        None => {
            spec.history.iter().any(is_of_others) || spec.files.iter().any(is_described_by_others)
        }
    }
}

/// Whether a list of files holds words about this one that others may have chosen: all but those of the
/// plan's file.
fn is_described_by_others(file: &ProductFile) -> bool {
    file.name.as_str() != PLAN_FILE || !file.description.is_empty()
}
