//! Waits requested by providers: learned from one call, respected by all calls of the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::settings::to_millis;

/// The maximum shared wait. A longer wait may concern one request only, so another call tries.
const MAX_SHARED: Duration = Duration::from_secs(60);

/// The times until which models take no calls, by the name of the model. Clones share this state.
#[derive(Debug, Clone, Default)]
pub struct RateLimits(Arc<Mutex<BTreeMap<String, i64>>>);

impl RateLimits {
    /// Notes a provider's requested wait for a model at `now_ms`, in Unix milliseconds.
    pub fn note_wait(&self, model: &str, wait: Duration, now_ms: i64) {
        let until_ms = now_ms.saturating_add(to_millis(wait.min(MAX_SHARED)));
        let mut limits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known_ms = limits.entry(model.to_owned()).or_insert(until_ms);
        let is_ahead = *known_ms > now_ms.saturating_add(to_millis(MAX_SHARED));
        *known_ms = if is_ahead { until_ms } else { until_ms.max(*known_ms) };
    }

    /// Returns the remaining wait of a model at `now_ms`, in Unix milliseconds; `None` if calls are allowed.
    #[must_use]
    pub fn remaining_wait(&self, model: &str, now_ms: i64) -> Option<Duration> {
        let limits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let remaining_ms = limits.get(model)?.saturating_sub(now_ms);
        let remaining = Duration::from_millis(u64::try_from(remaining_ms).ok()?);
        // A later time was noted before the clock was set back.
        (!remaining.is_zero() && remaining <= MAX_SHARED).then_some(remaining)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn longest_wait_holds_for_its_model_and_no_longer_than_a_minute() {
        let limits = RateLimits::default();
        assert_eq!(limits.remaining_wait("m", 0), None);
        limits.note_wait("m", seconds(10), 0);
        limits.note_wait("m", seconds(2), 1_000);
        assert_eq!(limits.remaining_wait("m", 1_000), Some(seconds(9)));
        assert_eq!(limits.remaining_wait("m", 10_000), None);
        assert_eq!(limits.remaining_wait("other", 1_000), None);
        limits.note_wait("m", seconds(3_600), 20_000);
        assert_eq!(limits.remaining_wait("m", 20_000), Some(seconds(60)));
        // The clock was set back by a day.
        assert_eq!(limits.remaining_wait("m", -86_400_000), None);
        limits.note_wait("m", seconds(2), -86_400_000);
        assert_eq!(limits.remaining_wait("m", -86_400_000), Some(seconds(2)));
    }
}
