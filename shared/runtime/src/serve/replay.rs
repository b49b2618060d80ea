//! Showing a run to a client that comes to it late, or comes back.

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::id::RunId;
use djinn_core::journal::Record;
use djinn_core::wire::cursor::Cursor;

use super::{holds_the_end, is_whole, known, unavailable};
use crate::client::ClientStream;
use crate::history::show;
use crate::port::clock::Clock;
use crate::port::journal::{Journals, RunMeta};
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
    let (meta, records) = whole_run(ports, key).await?;
    if meta.end_shown {
        client.note_end_shown();
    }
    let had = match from {
        ReplayFrom::Start => 0,
        ReplayFrom::After(cursor) => cursor.record.saturating_add(1),
        ReplayFrom::Record(n) => n.min(records.len() as u64),
    };
    let had = usize::try_from(had).unwrap_or(usize::MAX);
    if had > records.len() || matches!(from, ReplayFrom::After(cursor) if cursor.run != key.run) {
        return Err(bad_cursor(&key.run, records.len()));
    }
    let (known, missed) = records.split_at(had);
    match from {
        ReplayFrom::Start => {}
        ReplayFrom::After(_) => client.skip(known),
        ReplayFrom::Record(_) => client.begin_late(known, ports.clock().now_ms()),
    }
    for record in missed {
        if !client.has_room() {
            break;
        }
        show(ports, key, client, record).await;
    }
    Ok(())
}

/// Why a client that comes back to a run with something that is no cursor is refused: `bad_cursor`
/// with the valid ones, or what [`replay`] would say.
pub async fn no_cursor<P: Ports>(ports: &P, key: &RunKey) -> Failure {
    match whole_journal(ports, key).await {
        Ok(records) => bad_cursor(&key.run, records.len()),
        Err(failure) => failure,
    }
}

/// Every record of a run so far, unless some have expired.
pub(super) async fn whole_journal<P: Ports>(
    ports: &P,
    key: &RunKey,
) -> Result<Vec<Record>, Failure> {
    whole_run(ports, key).await.map(|(_, records)| records)
}

/// What was known of a run before its records were read, and these.
async fn whole_run<P: Ports>(ports: &P, key: &RunKey) -> Result<(RunMeta, Vec<Record>), Failure> {
    let meta = known(ports, key).await?;
    let has_ended = meta.status.has_ended();
    let records = ports.store().read(key, 0).await.map_err(|error| unavailable(&error))?;
    if !is_whole(&records) || (has_ended && !holds_the_end(&records)) {
        return Err(ErrorCode::RunExpired.into());
    }
    Ok((meta, records))
}

fn bad_cursor(run: &RunId, records: usize) -> Failure {
    let last = records.saturating_sub(1);
    Failure::new(ErrorCode::BadCursor, format!("valid are {run}:0 to {run}:{last}"))
}
