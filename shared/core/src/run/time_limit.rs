//! The moments that limit a run.
//!
//! Work ends early enough to sum up what there is; the work of children ends a little before that, so
//! that their outcomes are heard.

use crate::budget::Budget;
use crate::input::RunSpec;

/// The deadlines of a run, Unix milliseconds. The time in which it waited for people alone does not
/// count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeLimits {
    wall_ms: i64,
    summary_ms: i64,
}

impl TimeLimits {
    /// The deadlines of a run that started then and has waited so long for people.
    pub(super) fn of(spec: &RunSpec, budget: &Budget, started_at_ms: i64, paused_ms: i64) -> Self {
        let own = started_at_ms.saturating_add(to_signed_ms(budget.wall_ms));
        let caller = spec.child.as_ref().and_then(|child| child.deadline_ms);
        let wall_ms = caller.map_or(own, |caller| own.min(caller)).saturating_add(paused_ms);
        Self { wall_ms, summary_ms: to_signed_ms(budget.summary_ms()) }
    }

    /// When its wall time is used up.
    pub(super) fn wall_ms(self) -> i64 {
        self.wall_ms
    }

    /// When its work ends at the latest: the rest is for the summary.
    pub(super) fn work_ms(self) -> i64 {
        self.wall_ms.saturating_sub(self.summary_ms)
    }

    /// When the work of its children ends: their outcomes are to be heard before its own does.
    pub(super) fn children_ms(self) -> i64 {
        self.work_ms().saturating_sub(self.summary_ms / 8)
    }
}

fn to_signed_ms(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
