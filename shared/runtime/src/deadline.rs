//! How long an invocation has left.

use std::time::Duration;

/// When this invocation ends, if that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    at_ms: Option<i64>,
    margin_ms: i64,
}

impl Deadline {
    /// The deadline that Lambda announced, Unix milliseconds. One in the past means unknown:
    /// `cargo lambda watch` always says 1970.
    #[must_use]
    pub fn from_invocation(at_ms: i64, now_ms: i64, margin: Duration) -> Self {
        let margin_ms = i64::try_from(margin.as_millis()).unwrap_or(i64::MAX);
        Self { at_ms: Some(at_ms).filter(|at_ms| *at_ms > now_ms), margin_ms }
    }

    /// No deadline: a laptop.
    #[must_use]
    pub fn none() -> Self {
        Self { at_ms: None, margin_ms: 0 }
    }

    /// Whether this invocation ends at a moment that is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.at_ms.is_some()
    }

    /// When the hand-over starts, Unix milliseconds.
    #[must_use]
    pub fn hand_over_at_ms(&self) -> Option<i64> {
        self.at_ms.map(|at_ms| at_ms.saturating_sub(self.margin_ms))
    }

    /// Milliseconds between the start of the hand-over and the end of the invocation.
    #[must_use]
    pub fn margin_ms(&self) -> u64 {
        u64::try_from(self.margin_ms).unwrap_or_default()
    }

    /// Whether an effect that may take `timeout_ms` can start now and end before the hand-over.
    #[must_use]
    pub fn has_time_for(&self, timeout_ms: u64, now_ms: i64) -> bool {
        self.left_ms(now_ms).is_none_or(|left_ms| timeout_ms <= left_ms)
    }

    /// Milliseconds until the hand-over starts; `None` without a deadline.
    #[must_use]
    pub fn left_ms(&self, now_ms: i64) -> Option<u64> {
        let left = self.hand_over_at_ms()?.saturating_sub(now_ms);
        Some(u64::try_from(left).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_starts_only_if_it_ends_before_the_margin() {
        let deadline = Deadline::from_invocation(100_000, 0, Duration::from_secs(30));
        assert!(deadline.has_time_for(60_000, 10_000));
        assert!(!deadline.has_time_for(60_001, 10_000));
        assert_eq!(deadline.left_ms(80_000), Some(0));
    }

    #[test]
    fn a_deadline_in_the_past_is_unknown() {
        let deadline =
            Deadline::from_invocation(600_000, 1_800_000_000_000, Duration::from_secs(30));
        assert_eq!((deadline.hand_over_at_ms(), deadline.is_known()), (None, false));
        assert!(deadline.has_time_for(u64::MAX, 1_800_000_000_000));
    }
}
