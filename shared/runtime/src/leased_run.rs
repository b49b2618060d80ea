//! A run whose lease an invocation holds, and the taking of the lease.

use djinn_core::journal::{Journal, Record};
use djinn_core::status::RunStatus;

use crate::deadline::Deadline;
use crate::ending::abandon_run;
use crate::pages::read_journal_with;
use crate::port::clock::Clock;
use crate::port::journal::Lease;
use crate::port::lease::{LeaseAcquisition, Leases};
use crate::port::{RunKey, StoreError};
use crate::settings::to_millis;
use crate::shutdown::ActiveDriver;
use crate::world::Ports;

/// The context of an invocation that serves a run.
pub struct ServeContext {
    /// The key of the run or child.
    pub key: RunKey,
    /// The name of this driver, unique for all time: letters, digits and `_:.-`, at most 40.
    pub holder: String,
    /// The end of the invocation; the response ends before.
    pub deadline: Deadline,
    /// The number of the run's handoffs so far.
    pub hops: u32,
}

/// The lease and the journal of a run that this invocation drives from now on.
pub struct LeasedRun {
    /// The lease of this driver.
    pub(crate) lease: Lease,
    /// True if the earlier driver died.
    pub(crate) lapsed: bool,
    /// True if this invocation has just created the run.
    pub(crate) is_new: bool,
    /// The journal up to its newest record.
    pub(crate) journal: Journal,
    /// The registration of this process's driver, from before the lease was taken.
    pub(crate) driver: ActiveDriver,
}

/// Takes the lease of a run and reads its journal. Also returns the run's records from number `from` on.
/// `None` if another driver has the run or this process is shutting down. A run with an unreadable journal
/// has failed when this function returns.
pub(crate) async fn take_over<P: Ports>(
    ports: &P,
    serving: &ServeContext,
    from: u64,
) -> Result<Option<(Box<LeasedRun>, Vec<Record>)>, StoreError> {
    // Registered first: a shutdown then either waits for this driver or is seen here.
    let driver = ports.shutdown().register_driver();
    if ports.shutdown().is_requested() {
        return Ok(None);
    }
    let now_ms = ports.clock().now_ms();
    let until_ms = now_ms.saturating_add(to_millis(ports.settings().lease));
    let key = &serving.key;
    let acquisition = ports.store().take_lease(key, &serving.holder, now_ms, until_ms).await?;
    let LeaseAcquisition::Acquired { lease, lapsed } = acquisition else {
        return Ok(None);
    };
    let mut records = Vec::new();
    let keep = |record: &Record| {
        if record.number >= from {
            records.push(record.clone());
        }
    };
    let journal = match read_journal_with(ports, key, keep).await {
        Ok(journal) => journal,
        Err(StoreError::Unreadable(problem)) => {
            tracing::error!(problem, run_id = %key.run, path = %key.path, "given up: its journal cannot be read");
            abandon_run(ports, key).await?;
            return Err(StoreError::Unreadable(problem));
        }
        Err(error) => {
            // Otherwise the run stays locked until the lease lapses.
            ports.store().release_lease(key, &lease, RunStatus::Running, None).await?;
            return Err(error);
        }
    };
    if journal.epoch() > lease.epoch {
        // This process stood still between the two reads, and another driver took over.
        return Ok(None);
    }
    Ok(Some((Box::new(LeasedRun { lease, lapsed, is_new: false, journal, driver }), records)))
}
