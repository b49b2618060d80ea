//! Alarms and kicks, which continue a run without a driver.

use super::{RunKey, StoreError};

/// Recurring alarms: these invoke the executor, which does nothing while a lease is live. Needs
/// `scheduler:CreateSchedule`, `UpdateSchedule` and `DeleteSchedule` on the schedule group, and
/// `iam:PassRole` on its role.
pub trait Alarms: Send + Sync {
    /// Creates the run's recurring alarm. No effect if the alarm exists.
    fn set_alarm(&self, key: &RunKey) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Sets the timer of a paused run: fires at `from_ms`, in Unix milliseconds, and then recurs like an
    /// alarm. An existing timer is moved.
    fn set_timer(
        &self,
        key: &RunKey,
        from_ms: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes the run's timer. No effect if the timer does not exist.
    fn remove_timer(&self, key: &RunKey) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes the run's recurring alarm. No effect if the alarm does not exist.
    fn remove_alarm(&self, key: &RunKey) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// Asynchronous invocations of the executor. Needs `lambda:InvokeFunction` on the executor.
pub trait Invoker: Send + Sync {
    /// Continues the run in a new invocation, which may start twice, late or never.
    ///
    /// `hops` is the number of the run's handoffs so far, this handoff included.
    fn kick_run(
        &self,
        key: &RunKey,
        hops: u32,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
