//! Driving a run: what that begins with, and why it stops.

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

/// A run to be driven: its journal as it was read under the lease.
pub(crate) struct DriveParams {
    /// The run or the child that is driven.
    pub(crate) key: RunKey,
    /// The journal up to its newest record.
    pub(crate) journal: Journal,
    /// The lease it is driven under.
    pub(crate) lease: Lease,
    /// Whether the earlier driver died: `Resumed` is recorded first then.
    pub(crate) lapsed: bool,
    /// Whether this invocation has just created it: nobody can have written to it yet.
    pub(crate) is_new: bool,
    /// Of a child what was recorded before: viewers may not have been shown all of it, since who drove it
    /// last took with them what they had not written to the live log.
    pub(crate) earlier_records: Vec<Record>,
    /// The client that the response streams to, if there is one.
    pub(crate) client: Option<ClientStream>,
    /// The driver of the run that called this one, if both are in one invocation.
    pub(crate) caller: Option<CallerLink>,
    /// The end of the invocation, before which the driver hands over.
    pub(crate) deadline: Deadline,
    /// How often the run was handed over so far.
    pub(crate) hops: u32,
}

/// Why a driver stopped.
pub(crate) enum DriveEnd {
    /// The run has ended, and what it owed is delivered.
    Ended,
    /// There was no time left: a fresh invocation was asked to go on.
    HandedOver,
    /// The run waits for a message; whoever puts it wakes the run.
    Asleep,
    /// Somebody else drives now; the client may follow.
    Superseded(Option<ClientStream>),
    /// The store cannot be reached or read: whoever comes next goes on.
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

/// Drives a run until it has ended, is handed over, or is somebody else's.
/// A process that is asked to end waits for `driver`.
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
        // In a box, since every future around it would hold room for it, and one that moves it twice.
        let (earlier, is_new) = (std::mem::take(&mut drive.earlier_records), drive.is_new);
        let end = match drive.caller {
            // It has the prompts and models that its caller is driven with.
            Some(_) => Box::pin(Driver::new(ports, drive).run_to_end(earlier, is_new)).await,
            None => {
                let ports = Box::pin(ports.refresh()).await;
                Box::pin(Driver::new(&ports, drive).run_to_end(earlier, is_new)).await
            }
        };
        tracing::info!(outcome = end.as_str(), "driver stopped");
        end
    }
    .instrument(span)
    .await
}

/// What a pass of the loop gives, or why there is no further one.
pub(super) type DriveResult<T = ()> = Result<T, DriveEnd>;
