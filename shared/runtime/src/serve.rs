//! What an invocation does with a run: start it, join it, stop it, continue it.

mod follow;
mod question;

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::effect::{Delivery, Effect};
use djinn_core::id::{RunId, UserId};
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};
use djinn_core::status::RunStatus;
use djinn_core::wire::cursor::Cursor;

use crate::client::ClientStream;
use crate::deadline::Deadline;
use crate::driver::{Drive, DriveEnd, drive};
use crate::port::alarm::Alarms;
use crate::port::clock::Clock;
use crate::port::journal::{Appended, Journals, Lease, RunMeta};
use crate::port::lease::{Leases, Taken};
use crate::port::mailbox::Mail;
use crate::port::{Ports, RunKey, StoreError};
use crate::settings::{expiry_s, milliseconds};
use crate::sleep::wake;
use follow::{Followed, follow};
pub use question::{Opened, Question, accept, open};

/// A run as an invocation serves it.
pub struct Serving {
    /// The run.
    pub key: RunKey,
    /// Names this driver among all others that ever were; letters, digits and `_:.-`, at most 40.
    pub holder: String,
    /// Until when.
    pub deadline: Deadline,
    /// How often the run was handed over so far.
    pub hops: u32,
}

/// The lease and the journal of a run that this invocation drives from now on.
pub struct Driving {
    lease: Lease,
    lapsed: bool,
    journal: Journal,
}

/// Serves a client until the run has ended or this response has to: drives the run if nobody else
/// does, and follows it otherwise. `driving` is a run this invocation has just created.
pub async fn serve<P: Ports>(
    ports: &P,
    serving: Serving,
    client: ClientStream,
    driving: Option<Box<Driving>>,
) {
    let mut client = client;
    let mut driving = driving;
    loop {
        let end = match driving.take() {
            Some(driving) => {
                let Driving { lease, lapsed, journal } = *driving;
                let Serving { key, deadline, hops, .. } = &serving;
                let (key, deadline, hops) = (key.clone(), *deadline, *hops);
                let client = Some(client);
                drive(ports, Drive { key, journal, lease, lapsed, client, deadline, hops }).await
            }
            None => match follow(ports, &serving, client).await {
                Followed::Takes { client: following, driving: taken } => {
                    (client, driving) = (following, Some(taken));
                    continue;
                }
                Followed::Ended => DriveEnd::Ended,
            },
        };
        client = match end {
            DriveEnd::Superseded(Some(following)) => following,
            DriveEnd::Interrupted(Some(mut cut)) => {
                cut.hand_over(ports.clock().now_ms());
                return;
            }
            DriveEnd::Superseded(None)
            | DriveEnd::Interrupted(None)
            | DriveEnd::Ended
            | DriveEnd::HandedOver
            | DriveEnd::Asleep => return,
        };
    }
}

/// Continues a run that nobody drives: what the executor does when it is invoked. Harmless whenever
/// it comes: for a run that is driven, has ended or does not exist, it does nothing, except that an
/// ended run's deliveries are made.
///
/// # Errors
/// [`StoreError`] when the store cannot be reached; the run's alarm tries again.
pub async fn continue_run<P: Ports>(ports: &P, serving: Serving) -> Result<(), StoreError> {
    let Serving { key, deadline, hops, .. } = &serving;
    let Some(meta) = ports.store().meta(key).await? else {
        tracing::warn!(run_id = %key.run, "no such run");
        return Ok(());
    };
    if meta.status.has_ended() {
        return deliver(ports, key).await;
    }
    if let Some((driving, _)) = take_over(ports, &serving).await? {
        let Driving { lease, lapsed, journal } = *driving;
        let (key, deadline, hops) = (key.clone(), *deadline, *hops);
        let client = None;
        drive(ports, Drive { key, journal, lease, lapsed, client, deadline, hops }).await;
    }
    Ok(())
}

/// Asks a run to stop. Returns its status as it was seen: one that has ended is left as it is.
///
/// # Errors
/// `run_not_found`, or `store_unavailable`.
pub async fn stop<P: Ports>(ports: &P, key: &RunKey, by: UserId) -> Result<RunStatus, Failure> {
    let meta = known(ports, key).await?;
    if !meta.status.has_ended() {
        wake(ports, key, &Mail::Stop { by }).await.map_err(|error| unavailable(&error))?;
    }
    Ok(meta.status)
}

/// What is known of a run.
///
/// # Errors
/// `run_not_found`, or `store_unavailable`.
pub async fn known<P: Ports>(ports: &P, key: &RunKey) -> Result<RunMeta, Failure> {
    let meta = ports.store().meta(key).await.map_err(|error| unavailable(&error))?;
    meta.ok_or_else(|| ErrorCode::RunNotFound.into())
}

/// Prepares a client for a run that exists: replays what it missed since `cursor`, everything
/// without one. What its buffer does not hold, [`serve`] sends as it reads.
///
/// # Errors
/// `bad_cursor` for a cursor of another run or ahead of this one, or `store_unavailable`.
pub async fn replay<P: Ports>(
    ports: &P,
    key: &RunKey,
    client: &mut ClientStream,
    cursor: Option<&Cursor>,
) -> Result<(), Failure> {
    let records = ports.store().read(key, 0).await.map_err(|error| unavailable(&error))?;
    let had = match cursor {
        None => 0,
        Some(cursor) => usize::try_from(cursor.record).map_or(usize::MAX, |record| record + 1),
    };
    if had > records.len() || cursor.is_some_and(|cursor| cursor.run != key.run) {
        return Err(bad_cursor(&key.run, records.len()));
    }
    let (known, missed) = records.split_at(had);
    if cursor.is_some() {
        client.skip(known);
    }
    let now_ms = ports.clock().now_ms();
    for record in missed {
        if !client.has_room() {
            break;
        }
        client.record(record, now_ms);
    }
    Ok(())
}

fn bad_cursor(run: &RunId, records: usize) -> Failure {
    let last = records.saturating_sub(1);
    Failure::new(ErrorCode::BadCursor, format!("valid are {run}:0 to {run}:{last}"))
}

/// Takes the lease of a run and reads its journal, unless somebody else drives it.
async fn take_over<P: Ports>(
    ports: &P,
    serving: &Serving,
) -> Result<Option<(Box<Driving>, Vec<Record>)>, StoreError> {
    let now_ms = ports.clock().now_ms();
    let until_ms = now_ms.saturating_add(milliseconds(ports.settings().lease));
    let key = &serving.key;
    let taken = ports.store().take_lease(key, &serving.holder, now_ms, until_ms).await?;
    let Taken::Ours { lease, lapsed } = taken else {
        return Ok(None);
    };
    let (journal, records) = match read_journal(ports, key).await {
        Ok(read) => read,
        Err(error) => {
            // Left alone, it would be locked until the lease lapses.
            ports.store().release_lease(key, &lease).await?;
            return Err(error);
        }
    };
    Ok(Some((Box::new(Driving { lease, lapsed, journal }), records)))
}

async fn read_journal<P: Ports>(
    ports: &P,
    key: &RunKey,
) -> Result<(Journal, Vec<Record>), StoreError> {
    use djinn_core::journal::FoldError;
    let records = ports.store().read(key, 0).await?;
    let journal = Journal::fold(&records).map_err(|error| match error {
        FoldError::NewerFormat(format) => StoreError::NewerFormat(format),
        FoldError::NoQuestion | FoldError::Gap(_) => StoreError::Unreadable(error.to_string()),
    })?;
    Ok((journal, records))
}

/// Makes the deliveries that an ended run still owes. Needs no lease: each is idempotent, and so is
/// its record.
async fn deliver<P: Ports>(ports: &P, key: &RunKey) -> Result<(), StoreError> {
    let (journal, _) = read_journal(ports, key).await?;
    let mut inputs = Vec::new();
    for effect in journal.run().due() {
        if let Effect::Deliver(delivery) = effect {
            match delivery {
                Delivery::AlarmRemoval => ports.alarms().remove_alarm(key).await?,
            }
            inputs.push(Input::Delivered { delivery });
        }
    }
    let now_ms = ports.clock().now_ms();
    let write = djinn_core::id::WriteId::new(format!("delivered.{}", journal.next()));
    let write = write.map_err(|error| StoreError::Unreadable(error.to_string()))?;
    let Some((_, record)) = journal.decide(inputs, journal.epoch(), write, now_ms) else {
        return Ok(());
    };
    let expires_at_s = expiry_s(ports.settings(), journal.run().wall_time_ends_at_ms());
    match ports.store().append(key, &record, expires_at_s).await? {
        // Somebody else delivered at the same time.
        Appended::Done | Appended::Lost => Ok(()),
    }
}

/// The failure of a request that the store did not serve.
#[must_use]
pub fn unavailable(error: &StoreError) -> Failure {
    tracing::error!(%error, "store unavailable");
    match error {
        StoreError::Unavailable(_) => ErrorCode::StoreUnavailable.into(),
        StoreError::Unreadable(_) | StoreError::NewerFormat(_) => ErrorCode::Internal.into(),
    }
}
