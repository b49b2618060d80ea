//! Leases prevent two drivers of the same run. Correctness depends on the journal alone.

use djinn_core::journal::ChainHead;
use djinn_core::status::RunStatus;

use super::journal::Lease;
use super::{RunKey, StoreError};

/// The result of trying to take a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseAcquisition {
    /// This driver holds the lease from now on.
    Acquired {
        /// The lease, with its new epoch.
        lease: Lease,
        /// True if the earlier driver had not released the lease: `Resumed` must be written.
        lapsed: bool,
    },
    /// Another driver holds the lease, the run does not exist, or the run has ended: its last deliveries need
    /// no lease.
    Unavailable,
}

/// The result of renewing a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseRenewal {
    /// The driver still holds the lease.
    Renewed,
    /// Another driver holds the lease: stop driving.
    Lost,
}

/// What a driver notes about its run when it releases the lease.
#[derive(Debug, Clone, Copy)]
pub struct LeaseNote<'a> {
    /// The head of the journal's chain.
    pub head: &'a ChainHead,
    /// True if users have open requests.
    pub has_open_requests: bool,
}

/// The store of leases. Needs `dynamodb:UpdateItem` on the table.
pub trait Leases {
    /// Takes the lease of an existing run unless another holder's lease is unexpired. Increments the epoch and
    /// sets the status `running`. A holder with an unexpired lease receives the same lease again.
    fn take_lease(
        &self,
        key: &RunKey,
        holder: &str,
        now_ms: i64,
        until_ms: i64,
    ) -> impl Future<Output = Result<LeaseAcquisition, StoreError>> + Send;

    /// Extends a lease, expired or not, if the holder and epoch are the same and the lease is not released.
    /// Also notes whether users have open requests.
    fn renew_lease(
        &self,
        key: &RunKey,
        lease: &Lease,
        until_ms: i64,
        has_open_requests: bool,
    ) -> impl Future<Output = Result<LeaseRenewal, StoreError>> + Send;

    /// Releases a lease and sets the run's status: `running`, or `paused` if the run waits for users. Without a
    /// note, the earlier note stays. No effect on another driver's lease.
    fn release_lease(
        &self,
        key: &RunKey,
        lease: &Lease,
        status: RunStatus,
        note: Option<LeaseNote<'_>>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
