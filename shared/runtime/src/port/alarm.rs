//! What brings a run back when nobody drives it.

use super::{RunKey, StoreError};

/// Recurring alarms: they invoke the executor, which does nothing while a lease is live. Needs
/// `scheduler:CreateSchedule`, `UpdateSchedule`, `DeleteSchedule` on the schedule group, and
/// `iam:PassRole` on its role.
pub trait Alarms: Send + Sync {
    /// Makes the run's recurring alarm. No effect if it exists.
    fn set_alarm(&self, key: &RunKey) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Makes the alarm of a run that waits for people: it rings from `from_ms` on, Unix milliseconds,
    /// and again like the other one. One that exists is moved there.
    fn set_timer(
        &self,
        key: &RunKey,
        from_ms: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes that one. No effect if it does not exist.
    fn remove_timer(&self, key: &RunKey) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes the run's recurring alarm. No effect if it does not exist.
    fn remove_alarm(&self, key: &RunKey) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// Asynchronous invocations of the executor. Needs `lambda:InvokeFunction` on it.
pub trait Invoker: Send + Sync {
    /// Has the run continued by a fresh invocation. It may come twice, late or not at all.
    ///
    /// `hops` counts the hand-overs of the run so far, this one included.
    fn kick_run(
        &self,
        key: &RunKey,
        hops: u32,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
