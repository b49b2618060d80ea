//! Continuing a run without a driver.

use djinn_core::journal::Record;

use super::caller::CallerLink;
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

/// Continues a run without a driver. The executor calls this on every invocation. Does nothing if the run has
/// a driver, has ended or does not exist; an ended run's deliveries are still made.
///
/// # Errors
/// Returns [`StoreError`] if the store cannot be reached; the run's alarm retries.
pub async fn continue_run<P: Ports>(ports: &P, serving: ServeContext) -> Result<(), StoreError> {
    continue_with_caller(ports, serving, None).await
}

/// Continues a child in the invocation of its caller's driver, and shows the caller the child's work at once.
///
/// # Errors
/// Returns [`StoreError`] if the store cannot be reached; the child is dispatched again.
pub(super) async fn continue_child<P: Ports>(
    ports: &P,
    serving: ServeContext,
    caller: CallerLink,
) -> Result<(), StoreError> {
    continue_with_caller(ports, serving, Some(caller)).await
}

async fn continue_with_caller<P: Ports>(
    ports: &P,
    serving: ServeContext,
    caller: Option<CallerLink>,
) -> Result<(), StoreError> {
    let key = &serving.key;
    let meta = ports.store().find_meta(key).await?;
    let status = meta.as_ref().map(|meta| meta.status);
    let Some(meta) = meta.filter(|meta| !meta.status.has_ended()) else {
        let path = (!key.is_root()).then(|| tracing::field::display(&key.path));
        tracing::info!(run_id = %key.run, path, ?status, "there is nothing to drive");
        let delivery = deliver_owed(ports, key).await;
        // An alarm set late would ring forever, so remove it. Keep the alarm while a delivery is owed: it
        // brings the run back.
        if key.is_root() && !delivery.as_ref().is_err_and(StoreError::is_temporary) {
            retire(ports, key, true).await?;
        }
        return delivery;
    };
    let parent = key.parent().filter(|_| caller.is_none());
    if let Some(parent) = parent
        && has_run_ended(ports, &parent).await?
    {
        // The caller of this child has ended: the child reads the stop before any other work.
        let stop = Mail::Stop { by: meta.user };
        let expires_at_s = expiry_s(ports.settings(), ports.clock().now_ms());
        ports.store().put_mail(key, &stop, expires_at_s).await?;
    }
    // A child's records are all shown again; the viewers of a user's run have already read its records.
    let from = if key.is_root() { u64::MAX } else { 0 };
    if let Some((leased_run, earlier_records)) = take_over(ports, &serving, from).await? {
        drive_leased(ports, serving, *leased_run, earlier_records, caller).await;
    }
    Ok(())
}

/// Drives a child created in this invocation. See [`continue_child`] for an existing child.
pub(super) async fn drive_new_child<P: Ports>(
    ports: &P,
    serving: ServeContext,
    leased_run: LeasedRun,
    caller: CallerLink,
) {
    drive_leased(ports, serving, leased_run, Vec::new(), Some(caller)).await;
}

async fn drive_leased<P: Ports>(
    ports: &P,
    serving: ServeContext,
    leased_run: LeasedRun,
    earlier_records: Vec<Record>,
    caller: Option<CallerLink>,
) {
    let LeasedRun { lease, lapsed, is_new, journal, driver } = leased_run;
    let ServeContext { key, deadline, hops, .. } = serving;
    let client = None;
    let drive = DriveParams {
        key,
        journal,
        lease,
        lapsed,
        is_new,
        earlier_records,
        client,
        caller,
        deadline,
        hops,
    };
    drive_run(ports, drive, driver).await;
}

async fn has_run_ended<P: Ports>(ports: &P, key: &RunKey) -> Result<bool, StoreError> {
    let meta = ports.store().find_meta(key).await?;
    Ok(meta.is_none_or(|meta| meta.status.has_ended()))
}
