//! Whether a run has read text that anybody may have written.

use super::{PLAN_FILE, Phase, Run};
use crate::conversation::Exchange;
use crate::file::ProductFile;
use crate::input::RunSpec;

impl Run {
    /// Whether it has been shown text that anybody may have written: by a tool, in the names and
    /// descriptions of files that it did not write, in a question of the session that somebody else asked
    /// and its answer, or in an answer that came of such text.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        self.tainted
            || match &self.phase {
                Phase::Reacting(agent) => agent.is_tainted(),
                Phase::PlanSolving(solving) => solving.is_tainted(),
                Phase::Summarizing(_) | Phase::Ended(_) => false,
            }
    }

    /// It is shown such text.
    pub(super) fn taint(&mut self) {
        self.tainted = true;
        if let Some(agent) = self.active_loop() {
            agent.taint();
        }
    }

    /// It begins with what others have read, and with what they left.
    pub(super) fn taint_at_start(&mut self) {
        let RunSpec { user, child: task, history, files, .. } = &self.spec;
        let is_of_others = |earlier: &Exchange| earlier.tainted || !earlier.is_asked_by(user);
        let tainted = match task {
            // Its run knows what it is told.
            Some(task) => task.tainted,
            None => history.iter().any(is_of_others) || files.iter().any(is_described_by_others),
        };
        if tainted {
            self.taint();
        }
    }

    /// What the agents have read stays read when their work ends.
    pub(super) fn freeze_taint(&mut self) {
        self.tainted = self.is_tainted();
    }
}

/// Whether a list of files holds words about this one that others may have chosen: all but those of the
/// plan's file.
fn is_described_by_others(file: &ProductFile) -> bool {
    file.name.as_str() != PLAN_FILE || !file.description.is_empty()
}
