//! Time and randomness, which tests can control.

use std::time::Duration;

/// The only source of time and randomness for drivers.
pub trait Clock: Send + Sync {
    /// Returns the current time, in Unix milliseconds.
    fn now_ms(&self) -> i64;

    /// Returns after the given duration.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;

    /// Returns a number in `0.0..1.0`, to spread retries.
    fn jitter(&self) -> f64;

    /// Returns at the given time in Unix milliseconds; at once if the time has passed.
    fn sleep_until(&self, at_ms: i64) -> impl Future<Output = ()> + Send {
        let remaining_ms = u64::try_from(at_ms.saturating_sub(self.now_ms())).unwrap_or_default();
        self.sleep(Duration::from_millis(remaining_ms))
    }
}

/// Returns the result of `work`, or `None` if `work` takes longer than `limit` and is dropped.
pub async fn run_within<C: Clock, T>(
    clock: &C,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        result = work => Some(result),
        () = clock.sleep(limit) => None,
    }
}

/// The clock of the machine.
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

/// Returns the milliseconds between two times; 0 if the times are out of order.
#[must_use]
pub fn elapsed_ms(from_ms: i64, to_ms: i64) -> u64 {
    u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or_default()
}
