//! The time that a client lets pass before it comes back to a run that waits.

use std::time::Duration;

use djinn_core::run::Run;
use djinn_core::status::RunStatus;

/// The shortest response to a client that comes back to a run that waits: it cannot come more often.
pub(crate) const MIN_STREAM: Duration = Duration::from_secs(1);

/// The time between visits to a run that people have to answer: any of them may, from anywhere.
pub(crate) const PAUSED: Duration = Duration::from_secs(10);

/// The time before which a visit shows nothing new: until the next attempt at a model call that is delayed, or ten
/// seconds while people are asked. `None` if the run works.
pub(crate) fn reconnect_delay(run: &Run, now_ms: i64) -> Option<Duration> {
    if run.status() == RunStatus::Paused {
        return Some(PAUSED);
    }
    let left_ms = run.next_retry_ms()?.saturating_sub(now_ms);
    Some(Duration::from_millis(left_ms.max(0).unsigned_abs()).max(MIN_STREAM))
}
