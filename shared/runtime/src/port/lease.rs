//! Leases: who drives a run. They keep drivers from working twice; correctness is the journal's.

use djinn_core::status::RunStatus;

use super::journal::Lease;
use super::{RunKey, StoreError};

/// What came of trying to take a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseAcquisition {
    /// The lease is this driver's from now on.
    Acquired {
        /// The lease, with its new epoch.
        lease: Lease,
        /// Whether the earlier driver had not released it: `Resumed` must be written then.
        lapsed: bool,
    },
    /// Somebody else holds it, or there is no such run, or it has ended: what it still owes needs no
    /// lease.
    Unavailable,
}

/// What came of renewing a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseRenewal {
    /// It is still ours.
    Renewed,
    /// It is somebody else's: stop driving.
    Lost,
}

/// Leases. Needs `dynamodb:UpdateItem` on the table.
pub trait Leases {
    /// Takes the lease of an existing run if nobody holds it unexpired, counting its epoch up and
    /// making its status `running`. Whoever holds it unexpired gets the lease it has.
    fn take_lease(
        &self,
        key: &RunKey,
        holder: &str,
        now_ms: i64,
        until_ms: i64,
    ) -> impl Future<Output = Result<LeaseAcquisition, StoreError>> + Send;

    /// Extends a lease that is still ours, expired or not: same holder, same epoch, not released.
    fn renew_lease(
        &self,
        key: &RunKey,
        lease: &Lease,
        until_ms: i64,
    ) -> impl Future<Output = Result<LeaseRenewal, StoreError>> + Send;

    /// Gives a lease back, with the run's status: `running`, or `paused` if it waits for people. No
    /// effect if it is no longer ours.
    fn release_lease(
        &self,
        key: &RunKey,
        lease: &Lease,
        status: RunStatus,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
