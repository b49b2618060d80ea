//! Going to sleep and waking up without missing a message.
//!
//! A driver that goes to sleep releases its lease *first* and reads its mailbox *after* that; whoever
//! wakes a run puts the message *first* and looks at the lease *after* that. Whichever of the two is
//! late sees what the other did. Both reads are strongly consistent.

use tokio::task::JoinSet;

use crate::port::alarm::Invoker;
use crate::port::clock::Clock;
use crate::port::journal::{Journals, Lease};
use crate::port::lease::{Leases, Taken};
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::{Ports, RunKey, StoreError};
use crate::settings::{expiry_s, milliseconds};

/// What became of a driver that wanted to sleep.
#[derive(Debug, Clone, PartialEq)]
pub enum Slept {
    /// Nothing was in the mailbox: the run is nobody's until it is woken.
    Asleep,
    /// There was mail: the run is ours again, under another lease.
    Woken(Lease, Vec<Mail>),
    /// There was mail, and somebody else took the run to read it.
    Superseded,
}

/// Releases a lease and makes sure that no message is left unread.
///
/// # Errors
/// [`StoreError`] when the mailbox could not be read or the lease not taken back: the run's alarm
/// brings it a driver.
pub async fn fall_asleep<P: Ports>(
    ports: &P,
    key: &RunKey,
    lease: &Lease,
) -> Result<Slept, StoreError> {
    ports.store().release_lease(key, lease).await?;
    let mail = ports.store().mail(key).await?;
    if mail.is_empty() {
        return Ok(Slept::Asleep);
    }
    let now_ms = ports.clock().now_ms();
    let until_ms = now_ms.saturating_add(milliseconds(ports.settings().lease));
    match ports.store().take_lease(key, &lease.holder, now_ms, until_ms).await? {
        Taken::Ours { lease, .. } => Ok(Slept::Woken(lease, mail)),
        Taken::Held => Ok(Slept::Superseded),
    }
}

/// How many are woken at once.
const WOKEN_AT_ONCE: usize = 32;

/// Wakes several.
///
/// # Errors
/// [`StoreError`] when the message may not be there for all of them.
pub async fn wake_all<P: Ports>(
    ports: &P,
    keys: impl Iterator<Item = RunKey>,
    mail: &Mail,
) -> Result<(), StoreError> {
    let lost = |error: tokio::task::JoinError| StoreError::Unavailable(error.to_string());
    let mut waking = JoinSet::new();
    for key in keys {
        let (ports, mail) = (ports.clone(), mail.clone());
        waking.spawn(async move { wake(&ports, &key, &mail).await });
        if waking.len() >= WOKEN_AT_ONCE
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
/// invocation drives the run, unless somebody does or it has ended.
///
/// # Errors
/// [`StoreError`] when the message may not be there.
pub async fn wake<P: Ports>(ports: &P, key: &RunKey, mail: &Mail) -> Result<(), StoreError> {
    let expires_at_s = expiry_s(ports.settings(), ports.clock().now_ms());
    ports.store().put_mail(key, mail, expires_at_s).await?;
    let meta = ports.store().meta(key).await?;
    let now_ms = ports.clock().now_ms();
    let undriven = meta.is_some_and(|meta| !meta.status.has_ended() && !meta.is_driven(now_ms));
    if undriven && let Err(error) = ports.invoker().kick(key, 0).await {
        // The message waits; the run's alarm brings it a driver.
        tracing::warn!(%error, run_id = %key.run, "run not kicked");
    }
    Ok(())
}
