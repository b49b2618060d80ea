//! Showing a run to a client that comes to it late, or comes back.

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::entry::Event;
use djinn_core::id::RunId;
use djinn_core::journal::Record;
use djinn_core::wire::cursor::Cursor;

use super::{known, unavailable};
use crate::client::ClientStream;
use crate::pages::{Extent, Pages, holds_the_end};
use crate::port::clock::Clock;
use crate::port::journal::{Journals, RunMeta};
use crate::port::page::PageSize;
use crate::port::{Ports, RunKey};

/// Where a client begins that a run is shown to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayFrom<'a> {
    /// With the question.
    Start,
    /// After what it had on another connection.
    After(&'a Cursor),
    /// With this record; it has seen nothing of what was before, and is not to.
    Record(u64),
}

/// The newest records among which the final entry is, if a run has ended: what follows it are its
/// deliveries.
const AROUND_THE_END: usize = 4;

/// Prepares a client for a run that exists: replays what it missed. What its buffer does not hold,
/// [`serve`](super::serve) sends as it reads.
///
/// # Errors
/// `bad_cursor` for a cursor of another run or ahead of this one, `run_expired` when its journal is
/// gone, or `store_unavailable`.
pub async fn replay<P: Ports>(
    ports: &P,
    key: &RunKey,
    client: &mut ClientStream,
    from: ReplayFrom<'_>,
) -> Result<(), Failure> {
    let meta = known(ports, key).await?;
    if meta.end_shown {
        client.note_end_shown();
    }
    let had = match from {
        ReplayFrom::Start => 0,
        ReplayFrom::After(cursor) if cursor.run != key.run => {
            return Err(bad_cursor_of(ports, key, &meta).await);
        }
        ReplayFrom::After(cursor) => cursor.record.saturating_add(1),
        ReplayFrom::Record(n) => n,
    };
    let mut replaying = Replaying { extent: Extent::default(), had, has_begun: false, from };
    let mut pages = Pages::from(0, PageSize::SHOWN);
    while let Some(records) = pages.next(ports, key).await.map_err(|error| unavailable(&error))? {
        for record in &records {
            if !replaying.extent.follows(record) {
                return Err(ErrorCode::RunExpired.into());
            }
            if !replaying.take(client, record, ports.clock().now_ms()) {
                return is_kept(ports, key, &meta, &records).await;
            }
        }
    }
    let Replaying { extent, had, .. } = replaying;
    if !extent.is_whole(meta.status.has_ended()) {
        return Err(ErrorCode::RunExpired.into());
    }
    if had > extent.records && matches!(from, ReplayFrom::After(_)) {
        return Err(bad_cursor(&key.run, extent.records));
    }
    replaying.begin(client, ports.clock().now_ms());
    Ok(())
}

/// A replay under way.
struct Replaying<'a> {
    extent: Extent,
    /// How many records the client has, or is not to see.
    had: u64,
    has_begun: bool,
    from: ReplayFrom<'a>,
}

impl Replaying<'_> {
    /// Takes the next record. Returns whether the client can be sent another one here: none for which it
    /// has no room, and none with which tasks ended, whose journals are read as they are sent.
    fn take(&mut self, client: &mut ClientStream, record: &Record, now_ms: i64) -> bool {
        if record.n < self.had {
            client.skip(record);
            return true;
        }
        self.begin(client, now_ms);
        let ends_task = |event: &Event| matches!(event, Event::TaskEnded { .. });
        let sends =
            client.has_room() && !record.entries.iter().any(|entry| ends_task(&entry.event));
        if sends {
            client.record(record, &[], now_ms);
        }
        sends
    }

    /// All that the client has was taken.
    fn begin(&mut self, client: &mut ClientStream, now_ms: i64) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        match self.from {
            ReplayFrom::Start => {}
            ReplayFrom::After(_) => client.resume(),
            ReplayFrom::Record(_) => client.begin_late(now_ms),
        }
    }
}

/// Whether the end of a run is still kept, if it has ended: its records expire in no order. `page` was
/// read last.
async fn is_kept<P: Ports>(
    ports: &P,
    key: &RunKey,
    meta: &RunMeta,
    page: &[Record],
) -> Result<(), Failure> {
    if !meta.status.has_ended() || page.iter().any(holds_the_end) {
        return Ok(());
    }
    newest(ports, key, meta).await.map(|_| ())
}

/// Why a client that comes back to a run with something that is no cursor is refused: `bad_cursor`
/// with the valid ones, or what [`replay`] would say.
pub async fn no_cursor<P: Ports>(ports: &P, key: &RunKey) -> Failure {
    match known(ports, key).await {
        Ok(meta) => bad_cursor_of(ports, key, &meta).await,
        Err(failure) => failure,
    }
}

async fn bad_cursor_of<P: Ports>(ports: &P, key: &RunKey, meta: &RunMeta) -> Failure {
    match newest(ports, key, meta).await {
        Ok(newest) => bad_cursor(&key.run, newest.saturating_add(1)),
        Err(failure) => failure,
    }
}

/// The number of a run's newest record, unless its journal has expired.
async fn newest<P: Ports>(ports: &P, key: &RunKey, meta: &RunMeta) -> Result<u64, Failure> {
    let newest = ports.store().read_newest(key, AROUND_THE_END).await;
    let newest = newest.map_err(|error| unavailable(&error))?;
    let is_kept = !meta.status.has_ended() || newest.iter().any(holds_the_end);
    let last = newest.first().filter(|_| is_kept).ok_or(ErrorCode::RunExpired)?;
    Ok(last.n)
}

fn bad_cursor(run: &RunId, records: u64) -> Failure {
    let last = records.saturating_sub(1);
    Failure::new(ErrorCode::BadCursor, format!("valid are {run}:0 to {run}:{last}"))
}
