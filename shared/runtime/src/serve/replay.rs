//! Replaying a run to a late or returning client.

use djinn_core::entry::Event;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::RunId;
use djinn_core::journal::Record;
use djinn_protocol::cursor::Cursor;

use super::{LoadedRun, store_failure};
use crate::client::ClientStream;
use crate::pages::{JournalExtent, JournalPages, has_final_entry};
use crate::port::clock::Clock;
use crate::port::journal::Journals;
use crate::port::page::PageSize;
use crate::world::Ports;

/// The point at which a replay begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayFrom<'a> {
    /// The beginning of the run, with its question.
    Start,
    /// The record after the cursor of an earlier connection.
    After(&'a Cursor),
    /// This record; all earlier records stay hidden.
    Record(u64),
}

/// The numbers of newest records to search for an ended run's final entry, in rising order. The final entry
/// is followed by deliveries: usually one or two, but one per child of a stopped run.
const END_WINDOWS_RECORDS: [usize; 3] = [4, 64, 4_096];

/// Prepares a client for an existing run, and replays missed records. Records without room in the client's
/// buffer are sent later by [`super::serve_client`].
///
/// # Errors
/// Returns `bad_cursor` for a cursor of another run or beyond this run's newest record. Returns `run_expired`
/// if the journal is gone, or `store_unavailable`.
pub async fn replay_run<P: Ports>(
    ports: &P,
    run: &LoadedRun,
    client: &mut ClientStream,
    from: ReplayFrom<'_>,
) -> Result<(), Failure> {
    let key = run.key();
    let meta = run.meta();
    if meta.status.has_ended() {
        client.set_end_shown(meta.end_shown);
    }
    let had = match from {
        ReplayFrom::Start => 0,
        ReplayFrom::After(cursor) if cursor.run != key.run => {
            return Err(invalid_cursor_failure(ports, run).await);
        }
        ReplayFrom::After(cursor) => cursor.record.saturating_add(1),
        ReplayFrom::Record(n) => n,
    };
    let mut replaying =
        RunReplay { extent: JournalExtent::default(), first_unseen: had, has_begun: false, from };
    let mut pages = JournalPages::starting_at(0, PageSize::FOR_VIEWER);
    while let Some(records) =
        pages.next_page(ports, key).await.map_err(|error| store_failure(&error))?
    {
        for record in &records {
            if !replaying.extent.extend_with(record) {
                return Err(ErrorCode::RunExpired.into());
            }
            if !replaying.replay_record(client, record, ports.clock().now_ms()) {
                return check_end_kept(ports, run, &records).await;
            }
        }
    }
    let RunReplay { extent, first_unseen: had, .. } = replaying;
    if !extent.is_complete(meta.status.has_ended()) {
        return Err(ErrorCode::RunExpired.into());
    }
    if had > extent.records && matches!(from, ReplayFrom::After(_)) {
        return Err(bad_cursor_failure(&key.run, extent.records));
    }
    replaying.begin_stream(client, ports.clock().now_ms());
    Ok(())
}

/// A replay in progress.
struct RunReplay<'a> {
    extent: JournalExtent,
    /// The number of records the client has, or should not see.
    first_unseen: u64,
    has_begun: bool,
    from: ReplayFrom<'a>,
}

impl RunReplay<'_> {
    /// Takes the next record. Returns true if another record can be sent here. Stops without room, and at the
    /// end of a child, whose journal is read while sending.
    fn replay_record(&mut self, client: &mut ClientStream, record: &Record, now_ms: i64) -> bool {
        if record.number < self.first_unseen {
            client.skip_record(record);
            return true;
        }
        self.begin_stream(client, now_ms);
        let ends_task = |event: &Event| matches!(event, Event::ChildEnded { .. });
        let sends = client.has_preview_room()
            && !record.entries.iter().any(|entry| ends_task(&entry.event));
        if sends {
            client.send_record(record, &[], now_ms);
        }
        sends
    }

    /// Begins the stream after all skipped records.
    fn begin_stream(&mut self, client: &mut ClientStream, now_ms: i64) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        match self.from {
            ReplayFrom::Start => {}
            ReplayFrom::After(_) => client.resume_after_skipped(),
            ReplayFrom::Record(_) => client.begin_after_skipped(now_ms),
        }
    }
}

/// Checks that the end of an ended run is still kept, since records expire in no order. `page` was read last.
async fn check_end_kept<P: Ports>(
    ports: &P,
    run: &LoadedRun,
    page: &[Record],
) -> Result<(), Failure> {
    if !run.meta().status.has_ended() || page.iter().any(has_final_entry) {
        return Ok(());
    }
    newest_record(ports, run).await.map(|_| ())
}

/// Returns the failure for an invalid cursor: `bad_cursor` with the valid range, or the error of
/// [`replay_run`].
pub async fn invalid_cursor_failure<P: Ports>(ports: &P, run: &LoadedRun) -> Failure {
    match newest_record(ports, run).await {
        Ok(newest) => bad_cursor_failure(&run.key().run, newest.saturating_add(1)),
        Err(failure) => failure,
    }
}

/// Returns the number of a run's newest record, unless the journal has expired.
async fn newest_record<P: Ports>(ports: &P, run: &LoadedRun) -> Result<u64, Failure> {
    for window in END_WINDOWS_RECORDS {
        let newest = ports.store().read_newest(run.key(), window).await;
        let newest = newest.map_err(|error| store_failure(&error))?;
        let is_kept = !run.meta().status.has_ended() || newest.iter().any(has_final_entry);
        if let Some(last) = newest.first().filter(|_| is_kept) {
            return Ok(last.number);
        }
        if newest.len() < window {
            break;
        }
    }
    Err(ErrorCode::RunExpired.into())
}

fn bad_cursor_failure(run: &RunId, records: u64) -> Failure {
    let last = records.saturating_sub(1);
    Failure::new(ErrorCode::BadCursor, format!("valid cursors are {run}:0 to {run}:{last}"))
}
