//! Limits of a user's started runs and runs at work. The transaction that creates a run counts both: a
//! repeated request counts once, a rejected request never.

/// The limits of a user's new run, at the time of the request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Admission {
    /// The maximum number of runs started per clock minute; `None` means unlimited.
    pub runs_per_minute: Option<u32>,
    /// The maximum number of runs that have not ended, without paused runs; `None` means unlimited.
    pub runs_at_once: Option<u32>,
}

/// The reason for which a user's run was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdmissionError {
    /// The limit of this minute is reached.
    RateLimited {
        /// The seconds until the next minute, 1-60.
        retry_in_s: u32,
    },
    /// The maximum number of runs, given here, is at work.
    TooManyRuns(u32),
}

/// A clock minute, in milliseconds.
const MINUTE_MS: i64 = 60_000;

/// Returns the minute of a time, counted from the beginning of 1970.
#[must_use]
pub fn minute_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(MINUTE_MS)
}

impl AdmissionError {
    /// Creates the error for a time in a minute without room.
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
