//! Time and chance, so that tests can move the one and fix the other.

use std::time::Duration;

/// Time and chance, the only ones that drivers know.
pub trait Clock: Send + Sync {
    /// The moment it is now, in Unix milliseconds.
    fn now_ms(&self) -> i64;

    /// Returns once this much time has passed.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;

    /// A number in `0.0..1.0` for spreading retries.
    fn jitter(&self) -> f64;

    /// Returns at a moment given in Unix milliseconds; at once if it has passed.
    fn sleep_until(&self, at_ms: i64) -> impl Future<Output = ()> + Send {
        let left = u64::try_from(at_ms.saturating_sub(self.now_ms())).unwrap_or_default();
        self.sleep(Duration::from_millis(left))
    }
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the clock that everything else asks")]
    fn now_ms(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }

    fn jitter(&self) -> f64 {
        fastrand::f64()
    }
}

/// Milliseconds between two moments; 0 if they are out of order.
#[must_use]
pub fn elapsed_ms(from_ms: i64, to_ms: i64) -> u64 {
    u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or_default()
}
