//! The deadlines of a run.
//!
//! Work ends early enough for a summary. The work of children ends a little earlier, so that their results
//! arrive in time.

use crate::budget::Budget;
use crate::input::RunSpec;

/// The deadlines of a run, Unix milliseconds. Pauses, in which the run only waited for users, do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeLimits {
    wall_ms: i64,
    summary_ms: i64,
}

impl TimeLimits {
    /// Returns the deadlines of a run with this start and these milliseconds of pauses.
    pub(super) fn of(spec: &RunSpec, budget: &Budget, started_at_ms: i64, paused_ms: i64) -> Self {
        let own = started_at_ms.saturating_add(to_signed_ms(budget.wall_ms));
        let caller = spec.child.as_ref().and_then(|child| child.deadline_ms);
        let wall_ms = caller.map_or(own, |caller| own.min(caller)).saturating_add(paused_ms);
        Self { wall_ms, summary_ms: to_signed_ms(budget.summary_ms()) }
    }

    /// Returns the time at which the wall time is used up.
    pub(super) fn wall_ms(self) -> i64 {
        self.wall_ms
    }

    /// Returns the latest end of the work; the remaining time is for the summary.
    pub(super) fn work_ms(self) -> i64 {
        self.wall_ms.saturating_sub(self.summary_ms)
    }

    /// Returns the end of the children's work, so that their results arrive before the end of the run's own
    /// work.
    pub(super) fn children_ms(self) -> i64 {
        self.work_ms().saturating_sub(self.summary_ms / 8)
    }
}

fn to_signed_ms(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
