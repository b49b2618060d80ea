//! The pause that a run is in while it waits for people alone.

use crate::effect::{Delivery, Effect};
use crate::run::Run;
use crate::status::RunStatus;

impl Run {
    /// Notes whether the run waits for people alone, since when and how long it did.
    pub(in crate::run) fn note_pause(&mut self, at_ms: i64) {
        let paused = self.waits_for_people();
        match (paused, self.asking.paused_since_ms) {
            (true, None) => {
                self.asking.paused_since_ms = Some(at_ms);
                if self.is_task() {
                    self.asking.changed();
                }
            }
            (false, Some(since_ms)) => {
                self.asking.paused_since_ms = None;
                self.asking.paused_ms += at_ms.saturating_sub(since_ms).max(0);
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    fn waits_for_people(&self) -> bool {
        if self.asking.pending.is_empty() || self.status() == RunStatus::Failed {
            return false;
        }
        self.due().iter().all(|effect| match effect {
            Effect::AskHuman(_) | Effect::Wait { .. } => true,
            Effect::Dispatch(dispatch) => dispatch.waits,
            // A task tells its run that it waits: that is no work.
            Effect::Deliver(delivery) => matches!(delivery, Delivery::Asks(_)),
            Effect::CallModel(_) | Effect::RunTool(_) | Effect::KeepPlan { .. } => false,
        })
    }
}
