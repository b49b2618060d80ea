//! Going to sleep and waking up without missing a message.
//!
//! A driver that goes to sleep releases its lease *first* and reads its mailbox *after* that; whoever
//! wakes a run puts the message *first* and looks at the lease *after* that. Whichever of the two is
//! late sees what the other did. Both reads are strongly consistent.

use std::collections::BTreeSet;

use djinn_core::status::RunStatus;
use tokio::task::JoinSet;

use crate::mailbox::read_mailbox;
use crate::port::alarm::{Alarms, Invoker};
use crate::port::clock::Clock;
use crate::port::journal::{Journals, Lease, RunMeta};
use crate::port::lease::{LeaseAcquisition, Leases};
use crate::port::mailbox::{Mail, Mailbox, MailboxContents};
use crate::port::{RunKey, SessionKey, StoreError};
use crate::settings::{expiry_s, to_millis};
use crate::world::Ports;

/// What became of a driver that wanted to sleep.
#[derive(Debug, Clone, PartialEq)]
pub enum SleepResult {
    /// Nothing was in the mailbox: the run is nobody's until it is woken.
    Asleep,
    /// There was mail: the run is ours again.
    Woken {
        /// Under another lease. When its epoch is not the next one, others drove meanwhile.
        lease: Lease,
        /// Whether the last of them had not released its lease.
        lapsed: bool,
        /// The mailbox, with the mail that nobody had read.
        mailbox: MailboxContents,
    },
    /// There was mail, and somebody else took the run to read it.
    Superseded,
}

/// Releases a lease, with the run's status, and makes sure that no message is left unread, but those of
/// `recorded_mail`, whose deletion did not come through yet.
///
/// # Errors
/// [`StoreError`] when the mailbox could not be read or the lease not taken back: the run's alarm
/// brings it a driver.
pub async fn fall_asleep<P: Ports>(
    ports: &P,
    key: &RunKey,
    session: &SessionKey,
    lease: &Lease,
    status: RunStatus,
    recorded_mail: &BTreeSet<String>,
) -> Result<SleepResult, StoreError> {
    ports.store().release_lease(key, lease, status).await?;
    let mailbox = read_mailbox(ports, key, session).await?;
    if mailbox.mail.iter().all(|mail| recorded_mail.contains(&mail.id())) {
        return Ok(SleepResult::Asleep);
    }
    let now_ms = ports.clock().now_ms();
    let until_ms = now_ms.saturating_add(to_millis(ports.settings().lease));
    match ports.store().take_lease(key, &lease.holder, now_ms, until_ms).await? {
        LeaseAcquisition::Acquired { lease, lapsed } => {
            Ok(SleepResult::Woken { lease, lapsed, mailbox })
        }
        LeaseAcquisition::Unavailable => Ok(SleepResult::Superseded),
    }
}

/// How many are woken at once.
const MAX_PARALLEL_WAKES: usize = 32;

/// Wakes several runs.
///
/// # Errors
/// [`StoreError`] when the message may not be there for all of them.
pub async fn wake_runs<P: Ports>(
    ports: &P,
    keys: impl Iterator<Item = RunKey>,
    mail: &Mail,
) -> Result<(), StoreError> {
    let lost = |error: tokio::task::JoinError| StoreError::Unavailable(error.to_string());
    let mut waking = JoinSet::new();
    for key in keys {
        let (ports, mail) = (ports.clone(), mail.clone());
        waking.spawn(async move { wake_run(&ports, &key, &mail).await });
        if waking.len() >= MAX_PARALLEL_WAKES
            && let Some(woken) = waking.join_next().await
        {
            woken.map_err(lost)??;
        }
    }
    while let Some(woken) = waking.join_next().await {
        woken.map_err(lost)??;
    }
    Ok(())
}

/// Puts a message into a run's mailbox and makes sure that somebody reads it: an asynchronous
/// invocation drives the run, unless somebody does. That of an ended run is taken back: nobody would.
/// Returns what is known of the run once the message is there, if it exists.
///
/// # Errors
/// [`StoreError`] when the message may not be there.
pub async fn wake_run<P: Ports>(
    ports: &P,
    key: &RunKey,
    mail: &Mail,
) -> Result<Option<RunMeta>, StoreError> {
    let expires_at_s = expiry_s(ports.settings(), ports.clock().now_ms());
    ports.store().put_mail(key, mail, expires_at_s).await?;
    let Some(meta) = ports.store().find_meta(key).await? else { return Ok(None) };
    if meta.status.has_ended() {
        ports.store().delete_mail(key, &[mail.id()]).await?;
        return Ok(Some(meta));
    }
    let undriven = !meta.is_driven(ports.clock().now_ms());
    // One that waits for people has no alarm: the kick must not be all that brings it back.
    if undriven && key.is_root() && meta.status == RunStatus::Paused {
        ports.alarms().set_alarm(key).await?;
    }
    if undriven && let Err(error) = ports.invoker().kick_run(key, 0).await {
        // The message waits; the run's alarm brings it a driver.
        tracing::warn!(%error, run_id = %key.run, "run not kicked");
    }
    Ok(Some(meta))
}
