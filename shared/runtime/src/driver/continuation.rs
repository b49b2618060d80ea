//! Continuing a run that nobody drives.

use djinn_protocol::preview::Live;
use tokio::sync::mpsc;

use super::{DriveParams, drive_run};
use crate::ending::retire;
use crate::leased_run::{LeasedRun, ServeContext, take_over};
use crate::perform::deliver::deliver_owed;
use crate::port::clock::Clock;
use crate::port::journal::Journals;
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::{RunKey, StoreError};
use crate::settings::expiry_s;
use crate::world::Ports;

/// Continues a run that nobody drives: what the executor does when it is invoked. Harmless whenever
/// it comes: for a run that is driven, has ended or does not exist, it does nothing, except that an
/// ended run's deliveries are made.
///
/// # Errors
/// [`StoreError`] when the store cannot be reached; the run's alarm tries again.
pub async fn continue_run<P: Ports>(ports: &P, serving: ServeContext) -> Result<(), StoreError> {
    continue_with_parent(ports, serving, None).await
}

/// Continues a child in the invocation that drives its caller, which is shown what it does at once.
///
/// # Errors
/// [`StoreError`] when the store cannot be reached; the child is dispatched again.
pub(super) async fn continue_child<P: Ports>(
    ports: &P,
    serving: ServeContext,
    parent: mpsc::UnboundedSender<Live>,
) -> Result<(), StoreError> {
    continue_with_parent(ports, serving, Some(parent)).await
}

async fn continue_with_parent<P: Ports>(
    ports: &P,
    serving: ServeContext,
    parent: Option<mpsc::UnboundedSender<Live>>,
) -> Result<(), StoreError> {
    let ServeContext { key, deadline, hops, .. } = &serving;
    let meta = ports.store().find_meta(key).await?;
    let status = meta.as_ref().map(|meta| meta.status);
    let Some(meta) = meta.filter(|meta| !meta.status.has_ended()) else {
        let path = (!key.is_root()).then(|| tracing::field::display(&key.path));
        tracing::info!(run_id = %key.run, path, ?status, "there is nothing to drive");
        let delivered = deliver_owed(ports, key).await;
        // An alarm that was made late would ring for ever, whatever the journal says; but it is what
        // brings the run back while something is owed.
        if key.is_root() && !delivered.as_ref().is_err_and(StoreError::is_retryable) {
            retire(ports, key, true).await?;
        }
        return delivered;
    };
    let caller = key.parent().filter(|_| parent.is_none());
    if let Some(caller) = caller
        && has_run_ended(ports, &caller).await?
    {
        // Nobody waits for it: it finds this before it does anything.
        let stop = Mail::Stop { by: meta.user };
        let expires_at_s = expiry_s(ports.settings(), ports.clock().now_ms());
        ports.store().put_mail(key, &stop, expires_at_s).await?;
    }
    // Of a child all is shown once more; of a user's run whoever watches has read it.
    let from = if key.is_root() { u64::MAX } else { 0 };
    if let Some((driving, before)) = take_over(ports, &serving, from).await? {
        let LeasedRun { lease, lapsed, is_new, journal } = *driving;
        let (key, deadline, hops) = (key.clone(), *deadline, *hops);
        let client = None;
        let drive = DriveParams {
            key,
            journal,
            lease,
            lapsed,
            is_new,
            earlier_records: before,
            client,
            parent,
            deadline,
            hops,
        };
        drive_run(ports, drive).await;
    }
    Ok(())
}

async fn has_run_ended<P: Ports>(ports: &P, key: &RunKey) -> Result<bool, StoreError> {
    let meta = ports.store().find_meta(key).await?;
    Ok(meta.is_none_or(|meta| meta.status.has_ended()))
}
