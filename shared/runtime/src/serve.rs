//! What an invocation does with a run: start it, join it, stop it, continue it.

mod access;
mod chat_response;
mod delete_session;
mod describe;
mod follow;
mod human_request;
mod question;
mod replay;
mod request_view;
mod user_input;

use djinn_core::effect::Effect;
use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::UserId;
use djinn_core::input::Input;
use djinn_core::journal::{Journal, Record};
use djinn_core::preview::Live;
use djinn_core::status::RunStatus;
use tokio::sync::mpsc;

use crate::client::ClientStream;
use crate::deadline::Deadline;
use crate::driver::{DriveEnd, DriveParams};
use crate::ending::{abandon_run, retire};
use crate::pages::{fold_journal_with, read_journal, read_journal_with};
use crate::perform::deliver::{ignore_too_large, make_delivery, put_child_result};
use crate::perform::plan::PlanWrite;
use crate::port::clock::Clock;
use crate::port::journal::{AppendResult, Journals, Lease, RunMeta};
use crate::port::lease::{LeaseAcquisition, Leases};
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::{Ports, RunKey, StoreError, too_large_failure};
use crate::settings::{expiry_s, journal_expiry_s, to_millis};
use crate::sleep::{wake_run, wake_runs};
pub use access::{
    AccessLevel, Permission, RunAccess, SessionAccess, authorize_run, authorize_session, end_share,
};
pub use delete_session::delete_session;
pub use describe::{RunDescription, RunSnapshot, SnapshotState, describe_run};
use follow::{FollowEnd, follow_run};
pub use human_request::{ResponseStatus, list_requests, load_audit, submit_response, tool_schema};
pub use question::{StartResult, start_background, start_streaming};
pub use replay::{ReplayFrom, invalid_cursor_failure, replay_run};
pub use request_view::{HumanRequestState, HumanRequestView, describe_request};
pub use user_input::{MessageStatus, PlanEditStatus, send_message, send_plan_edit};

/// A run as an invocation serves it.
pub struct ServeContext {
    /// The run or the task that is served.
    pub key: RunKey,
    /// Names this driver among all others that ever were; letters, digits and `_:.-`, at most 40.
    pub holder: String,
    /// The end of the invocation, before which the response ends.
    pub deadline: Deadline,
    /// How often the run was handed over so far.
    pub hops: u32,
}

/// The lease and the journal of a run that this invocation drives from now on.
pub struct LeasedRun {
    lease: Lease,
    lapsed: bool,
    is_new: bool,
    journal: Journal,
}

/// Serves a client until the run has ended or this response has to: drives the run if nobody else
/// does, and follows it otherwise. `driving` is a run this invocation has just created.
pub async fn serve_client<P: Ports>(
    ports: &P,
    serving: ServeContext,
    client: ClientStream,
    driving: Option<Box<LeasedRun>>,
) {
    let mut client = client;
    let mut driving = driving;
    loop {
        let end = match driving.take() {
            Some(driving) => {
                let LeasedRun { lease, lapsed, is_new, journal } = *driving;
                let ServeContext { key, deadline, hops, .. } = &serving;
                let (key, deadline, hops) = (key.clone(), *deadline, *hops);
                let (client, parent, before) = (Some(client), None, Vec::new());
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
                // In boxes: many responses are served at once, and one that drives needs no room
                // for following.
                Box::pin(crate::driver::drive_run(ports, drive)).await
            }
            None => match Box::pin(follow_run(ports, &serving, client)).await {
                FollowEnd::TakenOver { client: following, leased_run: taken } => {
                    (client, driving) = (following, Some(taken));
                    continue;
                }
                FollowEnd::Ended => DriveEnd::Ended,
            },
        };
        client = match end {
            DriveEnd::Superseded(Some(following)) => following,
            DriveEnd::StoreUnavailable(Some(mut cut)) => {
                cut.hand_over(ports.clock().now_ms());
                return;
            }
            DriveEnd::Superseded(None)
            | DriveEnd::StoreUnavailable(None)
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
pub async fn continue_run<P: Ports>(ports: &P, serving: ServeContext) -> Result<(), StoreError> {
    continue_with_parent(ports, serving, None).await
}

/// Continues a task in the invocation that drives its run, which is shown what it does at once.
///
/// # Errors
/// [`StoreError`] when the store cannot be reached; the task is dispatched again.
pub async fn continue_task<P: Ports>(
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
        let task_id = key.task.as_ref().map(tracing::field::display);
        tracing::info!(run_id = %key.run, task_id, ?status, "there is nothing to drive");
        let delivered = deliver_owed(ports, key).await;
        // An alarm that was made late would ring for ever, whatever the journal says; but it is what
        // brings the run back while something is owed.
        if key.task.is_none() && !delivered.as_ref().is_err_and(StoreError::is_retryable) {
            retire(ports, key, true).await?;
        }
        return delivered;
    };
    if key.task.is_some() && parent.is_none() && has_run_ended(ports, &key.without_task()).await? {
        // Nobody waits for it: it finds this before it does anything.
        let stop = Mail::Stop { by: meta.user };
        let expires_at_s = expiry_s(ports.settings(), ports.clock().now_ms());
        ports.store().put_mail(key, &stop, expires_at_s).await?;
    }
    // Of a task all is shown once more; of a run whoever watches has read it.
    let from = if key.task.is_some() { 0 } else { u64::MAX };
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
        crate::driver::drive_run(ports, drive).await;
    }
    Ok(())
}

async fn has_run_ended<P: Ports>(ports: &P, key: &RunKey) -> Result<bool, StoreError> {
    let meta = ports.store().find_meta(key).await?;
    Ok(meta.is_none_or(|meta| meta.status.has_ended()))
}

/// Asks a run to stop. Returns its status as it was seen: one that has ended is left as it is. One
/// that nobody can drive any more, since its journal cannot be read, has failed when this returns.
///
/// # Errors
/// `run_not_found`, or `store_unavailable`.
pub async fn request_stop<P: Ports>(
    ports: &P,
    key: &RunKey,
    by: UserId,
) -> Result<RunStatus, Failure> {
    let meta = load_meta(ports, key).await?;
    if meta.status.has_ended() {
        return Ok(meta.status);
    }
    if !meta.is_driven(ports.clock().now_ms())
        && let Err(StoreError::Unreadable(problem)) = read_journal(ports, key).await
    {
        tracing::error!(problem, run_id = %key.run, "given up: its journal cannot be read");
        abandon_run(ports, key).await.map_err(|error| store_failure(&error))?;
        return Ok(RunStatus::Failed);
    }
    let stop = Mail::Stop { by };
    let stopped = async {
        wake_run(ports, key, &stop).await?;
        // Tasks in other invocations hear of it from here, not only when their run is driven.
        let tasks = match read_journal(ports, key).await {
            Ok(journal) => journal.run().running_tasks(),
            Err(error) if error.is_retryable() => return Err(error),
            // Its driver has read it before, and hears of the stop.
            Err(_) => Vec::new(),
        };
        wake_runs(ports, tasks.into_iter().map(|task| key.with_task(task)), &stop).await?;
        Ok(meta.status)
    };
    stopped.await.map_err(|error| store_failure(&error))
}

/// What is known of a run.
///
/// # Errors
/// `run_not_found`, or `store_unavailable`.
pub async fn load_meta<P: Ports>(ports: &P, key: &RunKey) -> Result<RunMeta, Failure> {
    let meta = ports.store().find_meta(key).await.map_err(|error| store_failure(&error))?;
    meta.ok_or_else(|| ErrorCode::RunNotFound.into())
}

/// Takes the lease of a run and reads its journal, unless somebody else drives it. Returns its records
/// from number `from` on, too.
async fn take_over<P: Ports>(
    ports: &P,
    serving: &ServeContext,
    from: u64,
) -> Result<Option<(Box<LeasedRun>, Vec<Record>)>, StoreError> {
    let now_ms = ports.clock().now_ms();
    let until_ms = now_ms.saturating_add(to_millis(ports.settings().lease));
    let key = &serving.key;
    let taken = ports.store().take_lease(key, &serving.holder, now_ms, until_ms).await?;
    let LeaseAcquisition::Acquired { lease, lapsed } = taken else {
        return Ok(None);
    };
    let mut records = Vec::new();
    let keep = |record: &Record| {
        if record.number >= from {
            records.push(record.clone());
        }
    };
    let journal = match read_journal_with(ports, key, keep).await {
        Ok(journal) => journal,
        Err(error) => {
            // Left alone, it would be locked until the lease lapses.
            ports.store().release_lease(key, &lease, RunStatus::Running).await?;
            return Err(error);
        }
    };
    if journal.epoch() > lease.epoch {
        // Whoever stood still between the two was taken over from meanwhile.
        return Ok(None);
    }
    Ok(Some((Box::new(LeasedRun { lease, lapsed, is_new: false, journal }), records)))
}

/// Makes the deliveries that an ended run still owes. Needs no lease: each is idempotent, and so is
/// its record.
async fn deliver_owed<P: Ports>(ports: &P, key: &RunKey) -> Result<(), StoreError> {
    let (journal, extent) = fold_journal_with(ports, key, |_| {}).await?;
    let Some(mut journal) = journal.filter(|_| !extent.has_gap) else {
        tracing::info!(run_id = %key.run, "the journal has expired");
        return Ok(());
    };
    // Whoever asks for an ended task has not heard of its end.
    ignore_too_large(put_child_result(ports, key, journal.run()).await)?;
    loop {
        let mut inputs = Vec::new();
        for effect in journal.run().due() {
            match effect {
                Effect::Deliver(delivery) => {
                    let made = make_delivery(ports, key, journal.run(), &delivery).await;
                    ignore_too_large(made)?;
                    inputs.push(Input::Delivered { delivery });
                }
                Effect::SavePlan { version } => {
                    let keeping = PlanWrite::of(ports.clone(), journal.run(), version);
                    inputs.extend(keeping.perform().await);
                }
                Effect::CallModel(_)
                | Effect::RunTool(_)
                | Effect::Wait { .. }
                | Effect::AwaitHuman(_)
                | Effect::RunChild(_) => {}
            }
        }
        let now_ms = ports.clock().now_ms();
        let write = djinn_core::id::WriteId::new(format!("delivered.{}", journal.next_number()));
        let write = write.map_err(|error| StoreError::Unreadable(error.to_string()))?;
        let decided = journal.decide_record(inputs, journal.epoch(), write, now_ms);
        let Some((after, record)) = decided else { return Ok(()) };
        let expires_at_s = journal_expiry_s(ports.settings(), after.run());
        match ports.store().append(key, &record, expires_at_s).await? {
            // What was owed last may be owed only now.
            AppendResult::Appended => journal = after,
            // Somebody else delivered at the same time.
            AppendResult::Conflict => return Ok(()),
        }
    }
}

/// The failure of a request that the store did not serve.
#[must_use]
pub fn store_failure(error: &StoreError) -> Failure {
    tracing::error!(%error, "store unavailable");
    match error {
        StoreError::Unavailable(_) => ErrorCode::StoreUnavailable.into(),
        StoreError::TooLarge(_) => too_large_failure(),
        StoreError::Unreadable(_) | StoreError::NewerFormat(_) => ErrorCode::Internal.into(),
    }
}
