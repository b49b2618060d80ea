//! The pause that a run is in while it waits for people alone.

use crate::effect::{Delivery, Effect};
use crate::run::Run;
use crate::status::RunStatus;

impl Run {
    /// Notes whether the run waits for people alone, since when and how long it did.
    pub(in crate::run) fn update_pause(&mut self, at_ms: i64) {
        let paused = self.is_awaiting_humans();
        match (paused, self.human_requests.paused_since_ms) {
            (true, None) => {
                self.human_requests.paused_since_ms = Some(at_ms);
                if self.is_child() {
                    self.human_requests.bump_version();
                }
            }
            (false, Some(since_ms)) => {
                self.human_requests.paused_since_ms = None;
                self.human_requests.paused_ms += at_ms.saturating_sub(since_ms).max(0);
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Milliseconds that it has waited for people alone until `at_ms`.
    pub(in crate::run) fn paused_ms(&self, at_ms: i64) -> u64 {
        let since_ms = self.human_requests.paused_since_ms.unwrap_or(at_ms);
        let now = at_ms.saturating_sub(since_ms).max(0);
        u64::try_from(self.human_requests.paused_ms.saturating_add(now)).unwrap_or_default()
    }

    /// What a run that has not ended has used up of its wall time until `at_ms`, in milliseconds: the time
    /// in which it waited for people alone is left out.
    #[must_use]
    pub fn wall_ms(&self, at_ms: i64) -> u64 {
        let took_ms = at_ms.saturating_sub(self.started_at_ms).max(0).unsigned_abs();
        took_ms.saturating_sub(self.paused_ms(at_ms))
    }

    fn is_awaiting_humans(&self) -> bool {
        if self.human_requests.pending.is_empty() || self.status() == RunStatus::Failed {
            return false;
        }
        self.due().iter().all(|effect| match effect {
            Effect::AwaitHuman(_) | Effect::Wait { .. } => true,
            Effect::RunChild(dispatch) => dispatch.waits,
            // A task tells its run that it waits: that is no work.
            Effect::Deliver(delivery) => matches!(delivery, Delivery::ChildRequest(_)),
            Effect::CallModel(_) | Effect::RunTool(_) | Effect::SavePlan { .. } => false,
        })
    }
}
