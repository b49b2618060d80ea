//! The time after which a client should reconnect to a waiting run.

use std::time::Duration;

use djinn_core::run::Run;
use djinn_core::status::RunStatus;

/// The minimum length of a response to a client of a waiting run, which limits the rate of reconnects.
pub(crate) const MIN_STREAM: Duration = Duration::from_secs(1);

/// The reconnect delay of a paused run: a user may respond at any time.
pub(crate) const PAUSED: Duration = Duration::from_secs(10);

/// Returns the time before which a reconnect shows nothing new. This is the time until the next attempt at a
/// delayed model call, or ten seconds while the run is paused. `None` if the run works.
pub(crate) fn reconnect_delay(run: &Run, now_ms: i64) -> Option<Duration> {
    if run.status() == RunStatus::Paused {
        return Some(PAUSED);
    }
    let left_ms = run.next_retry_ms()?.saturating_sub(now_ms);
    Some(Duration::from_millis(left_ms.max(0).unsigned_abs()).max(MIN_STREAM))
}
