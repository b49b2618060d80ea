//! Screening of a complete reply before any user sees it.

use djinn_core::budget::Usage;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::{Input, Reply};
use djinn_core::settings::Role;
use djinn_core::tool::OfferedTool;

use super::{ModelExecution, SilentAttempts};
use crate::awake_time::AwakeTime;
use crate::port::checker::ContentOwner;
use crate::world::Ports;

/// The maximum number of suspensions of the process during a check.
const MAX_STANDSTILLS: u32 = 3;

impl<P: Ports> ModelExecution<P> {
    /// Screens a reply, except for a compaction, which is never shown. If the checker gave no verdict during
    /// a suspension, the check is repeated.
    pub(super) async fn screen_reply(
        &self,
        mut reply: Reply,
        offers: &[OfferedTool],
    ) -> Result<Reply, Failure> {
        if self.call.role == Role::Compactor {
            return Ok(reply);
        }
        let session = self.run.spec().session_name();
        let owner = ContentOwner::of(&self.key, &self.run.spec().user, &session);
        let mut standstills = 0;
        loop {
            let mut time = AwakeTime::new(self.ports.clock());
            let screening = self.ports.content().screen_reply(&mut reply, offers, owner);
            let outcome = time.run_to_end(screening).await;
            standstills += u32::from(time.was_suspended());
            let is_final = !time.was_suspended() || standstills >= MAX_STANDSTILLS;
            match outcome {
                Err(failure) if failure.code == ErrorCode::ContentUnchecked && !is_final => {}
                outcome => return outcome.map(|()| reply),
            }
        }
    }

    /// Withholds a reply: shown text is void and the reply is not recorded, but its usage is.
    pub(super) fn withhold_reply(
        &self,
        failure: Failure,
        usage: Usage,
        silent: &SilentAttempts,
    ) -> Vec<Input> {
        let message = &self.call.message;
        tracing::warn!(%message, code = failure.code.as_str(), "reply held back");
        let void = self.void_input(failure.clone(), usage, false, silent);
        vec![Input::AttemptFailed(Box::new(void)), self.failure_input(failure)]
    }
}
