//! Sleep and wake-up of a run without lost mail.
//!
//! A driver that goes to sleep *first* releases its lease and *then* reads its mailbox. A sender *first* puts
//! the mail and *then* looks at the lease. The later of the two always sees the other's write. Both reads are
//! strongly consistent.

use std::collections::BTreeSet;
use std::time::Duration;

use djinn_core::status::RunStatus;
use tokio::task::JoinSet;

use crate::mailbox::read_mailbox;
use crate::port::alarm::{Alarms, Invoker};
use crate::port::clock::{Clock, run_within};
use crate::port::journal::{Journals, Lease, RunMeta};
use crate::port::lease::{LeaseAcquisition, LeaseNote, Leases};
use crate::port::mailbox::{Mail, Mailbox, MailboxContents};
use crate::port::{RunKey, SessionKey, StoreError};
use crate::settings::{expiry_s, to_millis};
use crate::world::Ports;

/// The result of a driver's attempt to sleep.
#[derive(Debug, Clone, PartialEq)]
pub enum SleepResult {
    /// The mailbox was empty: the run has no driver until woken.
    Asleep,
    /// Mail had arrived, and this driver holds the run again.
    Woken {
        /// The new lease. If its epoch is not the next number, other drivers had the run meanwhile.
        lease: Lease,
        /// True if the last other driver had not released its lease.
        lapsed: bool,
        /// The mailbox, with the unread mail.
        mailbox: MailboxContents,
    },
    /// Mail had arrived, and another driver took the run.
    Superseded,
}

/// Releases a lease with the run's status and the driver's note, and then checks the mailbox for
/// unread mail. Mail in `recorded_mail` is ignored: its deletion has not yet taken effect.
///
/// # Errors
/// Returns [`StoreError`] if the mailbox cannot be read or the lease cannot be taken back: the run's alarm
/// then starts a driver.
pub async fn fall_asleep<P: Ports>(
    ports: &P,
    key: &RunKey,
    session: &SessionKey,
    lease: &Lease,
    status: RunStatus,
    note: LeaseNote<'_>,
    recorded_mail: &BTreeSet<String>,
) -> Result<SleepResult, StoreError> {
    ports.store().release_lease(key, lease, status, Some(note)).await?;
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

/// The maximum number of parallel wakes.
const MAX_PARALLEL_WAKES: usize = 32;

/// Wakes several runs with the same mail.
///
/// # Errors
/// Returns [`StoreError`] if any run may lack the mail.
pub async fn wake_runs<P: Ports>(
    ports: &P,
    keys: impl Iterator<Item = RunKey>,
    mail: &Mail,
) -> Result<(), StoreError> {
    let to_store_error = |error: tokio::task::JoinError| StoreError::Unavailable(error.to_string());
    let mut waking = JoinSet::new();
    for key in keys {
        let ports = ports.clone();
        let mail = mail.clone();
        waking.spawn(async move { wake_run(&ports, &key, &mail).await });
        if waking.len() >= MAX_PARALLEL_WAKES
            && let Some(outcome) = waking.join_next().await
        {
            outcome.map_err(to_store_error)??;
        }
    }
    while let Some(outcome) = waking.join_next().await {
        outcome.map_err(to_store_error)??;
    }
    Ok(())
}

/// Puts mail into a run's mailbox, and kicks the run if it has no driver. Mail for an ended run is deleted
/// again. Returns the run's metadata after the mail was put; `None` if the run does not exist.
///
/// # Errors
/// Returns [`StoreError`] if the mail may be missing, or if a paused run may lack its alarm.
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
    // A paused run has no alarm, and the kick alone may be lost.
    let needs_alarm = undriven && key.is_root() && meta.status == RunStatus::Paused;
    let alarm = if needs_alarm { set_alarm_in_time(ports, key).await } else { Ok(()) };
    let kick = if undriven { ports.invoker().kick_run(key, 0).await } else { Ok(()) };
    if let Err(error) = &kick {
        // The mail waits; the run's alarm starts a driver.
        tracing::warn!(%error, run_id = %key.run, "run not kicked");
    }
    match alarm {
        // The sender tries again, and finds the run with a driver if the kick arrived.
        Err(error) if error.is_retryable() || kick.is_err() => Err(error),
        _ => Ok(Some(meta)),
    }
}

/// The maximum time for which work that relies on a run's alarm waits for the alarm.
pub(crate) const MAX_ALARM_WAIT: Duration = Duration::from_secs(1);

/// Creates a run's alarm, within a second.
///
/// # Errors
/// Returns [`StoreError`] if the alarm may be missing; the run's next driver tries again.
pub async fn set_alarm_in_time<P: Ports>(ports: &P, key: &RunKey) -> Result<(), StoreError> {
    let alarm = run_within(ports.clock(), MAX_ALARM_WAIT, ports.alarms().set_alarm(key)).await;
    alarm.unwrap_or_else(|| Err(StoreError::Unavailable("alarm not set in time".to_owned())))
}
