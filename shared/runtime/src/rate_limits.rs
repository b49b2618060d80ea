//! The waits that providers ask for. Each is learned from one call, and all calls of the process keep to it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::settings::to_millis;

/// The longest wait that calls share. A longer one may be about the one request that was sent, so another call finds out.
const MAX_SHARED: Duration = Duration::from_secs(60);

/// The moments until which models take no calls, by the name of the model. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct RateLimits(Arc<Mutex<BTreeMap<String, i64>>>);

impl RateLimits {
    /// Notes at `now_ms`, Unix milliseconds, that a provider asks to wait so long before the next call of a model.
    pub fn note_wait(&self, model: &str, wait: Duration, now_ms: i64) {
        let until_ms = now_ms.saturating_add(to_millis(wait.min(MAX_SHARED)));
        let mut limits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known_ms = limits.entry(model.to_owned()).or_insert(until_ms);
        let is_ahead = *known_ms > now_ms.saturating_add(to_millis(MAX_SHARED));
        *known_ms = if is_ahead { until_ms } else { until_ms.max(*known_ms) };
    }

    /// Returns how long a model takes no calls yet at `now_ms`, Unix milliseconds; `None` if it may be called.
    #[must_use]
    pub fn remaining_wait(&self, model: &str, now_ms: i64) -> Option<Duration> {
        let limits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let remaining_ms = limits.get(model)?.saturating_sub(now_ms);
        let remaining = Duration::from_millis(u64::try_from(remaining_ms).ok()?);
        // A moment further away was noted before the clock was set back.
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
        limits.clone().note_wait("m", seconds(2), 1_000);
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
