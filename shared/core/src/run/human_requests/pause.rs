//! The pause of a run that only waits for users.

/// The start of the current pause, if any, and the total time of earlier pauses.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::run) struct Pause {
    since_ms: Option<i64>,
    ended_ms: i64,
}

impl Pause {
    /// Returns true if only users' responses are due.
    pub(in crate::run) fn is_paused(&self) -> bool {
        self.since_ms.is_some()
    }

    /// Returns the milliseconds of all ended pauses.
    pub(in crate::run) fn ended_ms(&self) -> i64 {
        self.ended_ms
    }

    /// Returns the milliseconds of all pauses until `at_ms`.
    pub(in crate::run) fn total_ms(&self, at_ms: i64) -> u64 {
        let since_ms = self.since_ms.unwrap_or(at_ms);
        let open_ms = at_ms.saturating_sub(since_ms).max(0);
        u64::try_from(self.ended_ms.saturating_add(open_ms)).unwrap_or_default()
    }

    /// Records whether the run only waits for users. Returns true if a pause begins.
    pub(super) fn update(&mut self, is_awaiting: bool, at_ms: i64) -> bool {
        match (is_awaiting, self.since_ms) {
            (true, None) => {
                self.since_ms = Some(at_ms);
                true
            }
            (false, Some(since_ms)) => {
                self.since_ms = None;
                self.ended_ms += at_ms.saturating_sub(since_ms).max(0);
                false
            }
            (true, Some(_)) | (false, None) => false,
        }
    }
}
