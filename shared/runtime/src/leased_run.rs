//! A run that an invocation holds the lease of, and how it takes that.

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

/// A run as an invocation serves it.
pub struct ServeContext {
    /// The run or the child that is served.
    pub key: RunKey,
    /// Names this driver among all others that ever were; letters, digits and `_:.-`, at most 40.
    pub holder: String,
    /// The end of the invocation, before which the response ends.
    pub deadline: Deadline,
    /// How often the run was handed over so far.
    pub hops: u32,
}

/// The lease and the journal of a run that this invocation drives from now on.
pub struct LeasedRun {
    /// The lease that it is driven under.
    pub(crate) lease: Lease,
    /// Whether the earlier driver died.
    pub(crate) lapsed: bool,
    /// Whether this invocation has just created it.
    pub(crate) is_new: bool,
    /// The journal up to its newest record.
    pub(crate) journal: Journal,
    /// The driver that it has here, from before the lease was taken.
    pub(crate) driver: ActiveDriver,
}

/// Takes the lease of a run and reads its journal, unless somebody else drives it or this process is to end. Returns its
/// records from number `from` on, too. A run whose journal cannot be read has failed when this returns.
pub(crate) async fn take_over<P: Ports>(
    ports: &P,
    serving: &ServeContext,
    from: u64,
) -> Result<Option<(Box<LeasedRun>, Vec<Record>)>, StoreError> {
    // Counted first: a process that is to end waits for it, or is known to be about to end here.
    let driver = ports.shutdown().register_driver();
    if ports.shutdown().is_requested() {
        return Ok(None);
    }
    let now_ms = ports.clock().now_ms();
    let until_ms = now_ms.saturating_add(to_millis(ports.settings().lease));
    let key = &serving.key;
    let taken = ports.store().take_lease(key, &serving.holder, now_ms, until_ms).await?;
    let LeaseAcquisition::Acquired { lease, lapsed } = taken else {
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
            // Left alone, it would be locked until the lease lapses.
            ports.store().release_lease(key, &lease, RunStatus::Running).await?;
            return Err(error);
        }
    };
    if journal.epoch() > lease.epoch {
        // Whoever stood still between the two was taken over from meanwhile.
        return Ok(None);
    }
    Ok(Some((Box::new(LeasedRun { lease, lapsed, is_new: false, journal, driver }), records)))
}
