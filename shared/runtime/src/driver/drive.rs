//! Driving a run: its start and its end.

use djinn_core::journal::{Journal, Record};
use tracing::Instrument as _;

use super::Driver;
use super::caller::CallerLink;
use crate::client::ClientStream;
use crate::deadline::Deadline;
use crate::port::RunKey;
use crate::port::journal::Lease;
use crate::shutdown::ActiveDriver;
use crate::world::Ports;

/// A run to drive, with the journal read under the lease.
pub(crate) struct DriveParams {
    /// The key of the driven run or child.
    pub(crate) key: RunKey,
    /// The journal up to the newest record.
    pub(crate) journal: Journal,
    /// The lease of this driver.
    pub(crate) lease: Lease,
    /// True if the earlier driver died: `Resumed` is then recorded first.
    pub(crate) lapsed: bool,
    /// True if this invocation just created the run: the mailbox is then empty.
    pub(crate) is_new: bool,
    /// A child's earlier records. Viewers may have missed some: a dead driver loses entries not yet written
    /// to the live log.
    pub(crate) earlier_records: Vec<Record>,
    /// The client that receives the response stream, if any.
    pub(crate) client: Option<ClientStream>,
    /// The driver of the run's caller, if in the same invocation.
    pub(crate) caller: Option<CallerLink>,
    /// The end of the invocation; the driver hands over before.
    pub(crate) deadline: Deadline,
    /// The number of earlier handoffs of the run.
    pub(crate) hops: u32,
}

/// The reason why a driver stopped.
pub(crate) enum DriveEnd {
    /// The run has ended. Deliveries that failed are left to another invocation.
    Ended,
    /// No time was left: a fresh invocation was kicked.
    HandedOver,
    /// The run waits for mail; the sender of mail wakes the run.
    Asleep,
    /// Another driver has the run; the client may follow.
    Superseded(Option<ClientStream>),
    /// The store cannot be reached or read; the next driver continues.
    StoreUnavailable(Option<ClientStream>),
}

impl DriveEnd {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::HandedOver => "handed_over",
            Self::Asleep => "asleep",
            Self::Superseded(_) => "superseded",
            Self::StoreUnavailable(_) => "store_unavailable",
        }
    }
}

/// Drives a run until the end, a handoff, a sleep, or the loss of the lease. A process asked to shut down
/// waits for `driver`.
pub(crate) async fn drive_run<P: Ports>(
    ports: &P,
    mut drive: DriveParams,
    driver: ActiveDriver,
) -> DriveEnd {
    let _driver = driver;
    let span = tracing::info_span!(
        "run.drive",
        run_id = %drive.key.run,
        path = (!drive.key.is_root()).then(|| tracing::field::display(&drive.key.path)),
        epoch = drive.lease.epoch,
        hops = drive.hops,
    );
    async {
        // Boxed, because every future around this would reserve space for it, and a moved future twice.
        let earlier = std::mem::take(&mut drive.earlier_records);
        let is_new = drive.is_new;
        let end = match drive.caller {
            // A child uses the prompts and models of its caller's configuration.
            Some(_) => Box::pin(Driver::new(ports, drive).run_to_end(earlier, is_new)).await,
            None => {
                let ports = Box::pin(ports.refresh()).await;
                if !ports.is_configured() {
                    let problems = ports.configuration_problems().join("; ");
                    tracing::error!(problems, "not driven: the settings were never read");
                    return DriveEnd::StoreUnavailable(drive.client.take());
                }
                Box::pin(Driver::new(&ports, drive).run_to_end(earlier, is_new)).await
            }
        };
        tracing::info!(outcome = end.as_str(), "driver stopped");
        end
    }
    .instrument(span)
    .await
}

/// The result of an iteration of the loop, or the end of the drive.
pub(super) type DriveResult<T = ()> = Result<T, DriveEnd>;
