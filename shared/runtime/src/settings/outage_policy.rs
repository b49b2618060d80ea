//! The policy for transient failures of a model's provider.

use std::time::Duration;

use super::to_millis;

/// The maximum reduction of a wait by jitter: enough to spread callers, with at most 70 wakes an hour.
const SPREAD: Duration = Duration::from_secs(6);

/// The waits between attempts at a model call, and their limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutagePolicy {
    /// The number of attempts before the role's fallback takes the call over, at least 1.
    pub attempts_before_fallback: u32,
    /// The number of attempts before users are asked, once any attempt has sent text: every attempt costs
    /// money.
    pub visible_attempts: u32,
    /// The wait after the first failure; doubled after each later failure.
    pub base: Duration,
    /// The maximum wait, unless the provider requests more.
    pub cap: Duration,
    /// The maximum total wait of one invocation, which holds the lease meanwhile. Above this, an alarm wakes
    /// the run.
    pub held: Duration,
    /// The time from the first failure after which users are asked.
    pub patience: Duration,
}

/// A transient failure in a series of failures of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassingFailure {
    /// The number of consecutive failures, this failure included.
    pub count: u32,
    /// The time of the first failure, in Unix milliseconds.
    pub since_ms: i64,
    /// The wait requested by the provider.
    pub requested: Option<Duration>,
    /// The total wait of this invocation so far.
    pub held: Duration,
}

/// The next step after a transient failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAttempt {
    /// Wait in this invocation.
    Wait(Duration),
    /// Release the run until a later time.
    Delay {
        /// The time of the next attempt, in Unix milliseconds.
        until_ms: i64,
    },
    /// Ask users: the provider has failed for too long.
    Pause,
}

impl OutagePolicy {
    /// Backoff from 1 s to 60 s, 20 s in the invocation, 15 minutes in all; a fallback after 3 attempts.
    pub const DEFAULT: Self = Self {
        attempts_before_fallback: 3,
        visible_attempts: 6,
        base: Duration::from_secs(1),
        cap: Duration::from_secs(60),
        held: Duration::from_secs(20),
        patience: Duration::from_secs(15 * 60),
    };

    /// Returns the wait after `failures` consecutive failures, from 1. `jitter` in `0.0..1.0` chooses a point
    /// in the upper half of the backoff, or in its last 6 s. A wait requested by the provider is the minimum;
    /// jitter is added, since other callers received the same request.
    #[must_use]
    pub fn backoff(&self, failures: u32, requested: Option<Duration>, jitter: f64) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        let most = self.base.saturating_mul(1 << doublings).min(self.cap);
        let jitter = jitter.clamp(0.0, 1.0);
        let own = most - (most / 2).min(SPREAD).mul_f64(1.0 - jitter);
        let requested_delay =
            requested.map(|delay| delay.saturating_add(self.base.mul_f64(jitter)));
        own.max(requested_delay.unwrap_or_default())
    }

    /// Returns the next step after a failure at `now_ms`, in Unix milliseconds.
    #[must_use]
    pub fn next_attempt(&self, failure: PassingFailure, jitter: f64, now_ms: i64) -> NextAttempt {
        let wait = self.backoff(failure.count, failure.requested, jitter);
        let until_ms = now_ms.saturating_add(to_millis(wait));
        if until_ms.saturating_sub(failure.since_ms) > to_millis(self.patience) {
            return NextAttempt::Pause;
        }
        if failure.held.saturating_add(wait) <= self.held {
            return NextAttempt::Wait(wait);
        }
        NextAttempt::Delay { until_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn backoff_doubles_up_to_the_cap_and_is_never_shorter_than_requested() {
        let policy = OutagePolicy::DEFAULT;
        let most: Vec<_> = (1..9).map(|n| policy.backoff(n, None, 1.0).as_secs()).collect();
        assert_eq!(most, [1, 2, 4, 8, 16, 32, 60, 60]);
        let least: Vec<_> = (1..4).map(|n| policy.backoff(n, None, 0.0).as_millis()).collect();
        assert_eq!(least, [500, 1_000, 2_000]);
        assert_eq!(policy.backoff(1, Some(seconds(7)), 0.0), seconds(7));
        assert_eq!(policy.backoff(1, Some(seconds(7)), 1.0), seconds(8));
        assert_eq!(policy.backoff(9, Some(seconds(7)), 1.0), seconds(60));
        assert_eq!(policy.backoff(u32::MAX, None, 9.0), seconds(60));
    }

    #[test]
    fn short_waits_are_held_long_ones_release_the_run_and_then_people_are_asked() {
        let policy = OutagePolicy::DEFAULT;
        let failure = PassingFailure { count: 1, since_ms: 0, requested: None, held: seconds(0) };
        let delay = |until_ms| NextAttempt::Delay { until_ms };
        for (failure, now_ms, next) in [
            (failure, 0, NextAttempt::Wait(seconds(1))),
            (
                PassingFailure { count: 5, held: seconds(4), ..failure },
                0,
                NextAttempt::Wait(seconds(16)),
            ),
            (PassingFailure { count: 5, held: seconds(5), ..failure }, 0, delay(16_000)),
            (PassingFailure { count: 7, ..failure }, 100_000, delay(160_000)),
            (PassingFailure { requested: Some(seconds(20)), ..failure }, 0, delay(21_000)),
            (
                PassingFailure { requested: Some(seconds(19)), ..failure },
                0,
                NextAttempt::Wait(seconds(20)),
            ),
            (PassingFailure { count: 9, ..failure }, 840_000, delay(900_000)),
            (PassingFailure { count: 9, ..failure }, 840_001, NextAttempt::Pause),
            (PassingFailure { requested: Some(seconds(3_600)), ..failure }, 0, NextAttempt::Pause),
        ] {
            assert_eq!(policy.next_attempt(failure, 1.0, now_ms), next, "{failure:?} at {now_ms}");
        }
    }
}
