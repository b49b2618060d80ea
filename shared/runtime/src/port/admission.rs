//! How many runs a user may start, and have at work at once. Both are counted in the transaction that
//! creates a run, so a request that is repeated counts once, and one that is refused not at all.

/// What a new run of a user's has to stay within, at the moment it is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Admission {
    /// Runs started in a minute of the clock.
    pub runs_per_minute: Option<u32>,
    /// Runs that have not ended. One that waits for a human does not count.
    pub runs_at_once: Option<u32>,
}

/// Why a user's run was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionError {
    /// This minute's are started.
    RateLimited {
        /// Seconds until the next minute, 1-60.
        retry_in_s: u32,
    },
    /// So many are at work, which is all that may be.
    TooManyRuns(u32),
}

/// A minute of the clock, in milliseconds.
const MINUTE_MS: i64 = 60_000;

/// The minute that a moment is in, both since the beginning of 1970.
#[must_use]
pub fn minute_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(MINUTE_MS)
}

impl AdmissionError {
    /// The minute of this moment has no room.
    #[must_use]
    pub fn rate_limited_at(at_ms: i64) -> Self {
        let left_ms = MINUTE_MS - at_ms.rem_euclid(MINUTE_MS);
        Self::RateLimited { retry_in_s: u32::try_from((left_ms + 999) / 1000).unwrap_or(60) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_ends_when_it_has_been_waited_for() {
        let wait = |at_ms| match AdmissionError::rate_limited_at(at_ms) {
            AdmissionError::RateLimited { retry_in_s: again_in_s } => again_in_s,
            AdmissionError::TooManyRuns(_) => 0,
        };
        assert_eq!([0, 1, 59_000, 59_999, 60_000].map(wait), [60, 60, 1, 1, 60]);
        assert_eq!((minute_of(59_999), minute_of(60_000)), (0, 1));
    }
}
