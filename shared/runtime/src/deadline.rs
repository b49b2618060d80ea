//! The remaining time of an invocation.

use std::time::Duration;

/// The end of an invocation, if known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    at_ms: Option<i64>,
    margin_ms: i64,
}

impl Deadline {
    /// Creates the deadline from Lambda's announcement, in Unix milliseconds. A past time means unknown:
    /// `cargo lambda watch` always announces 1970.
    #[must_use]
    pub fn from_invocation(at_ms: i64, now_ms: i64, margin: Duration) -> Self {
        let margin_ms = i64::try_from(margin.as_millis()).unwrap_or(i64::MAX);
        Self { at_ms: Some(at_ms).filter(|at_ms| *at_ms > now_ms), margin_ms }
    }

    /// Creates an unlimited deadline, as on a laptop.
    #[must_use]
    pub fn none() -> Self {
        Self { at_ms: None, margin_ms: 0 }
    }

    /// Returns true if the end of the invocation is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.at_ms.is_some()
    }

    /// Returns the start of the handoff, in Unix milliseconds.
    #[must_use]
    pub fn hand_over_at_ms(&self) -> Option<i64> {
        self.at_ms.map(|at_ms| at_ms.saturating_sub(self.margin_ms))
    }

    /// Returns the milliseconds from the start of the handoff to the end of the invocation.
    #[must_use]
    pub fn margin_ms(&self) -> u64 {
        u64::try_from(self.margin_ms).unwrap_or_default()
    }

    /// Returns true if an effect with this timeout can start now and end before the handoff.
    #[must_use]
    pub fn has_time_for(&self, timeout_ms: u64, now_ms: i64) -> bool {
        self.left_ms(now_ms).is_none_or(|left_ms| timeout_ms <= left_ms)
    }

    /// Returns the milliseconds until the handoff starts; `None` without a deadline.
    #[must_use]
    pub fn left_ms(&self, now_ms: i64) -> Option<u64> {
        let remaining_ms = self.hand_over_at_ms()?.saturating_sub(now_ms);
        Some(u64::try_from(remaining_ms).unwrap_or_default())
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
