//! Requests of an invocation about a run: start, join, stop and continue.

mod access;
mod audit;
mod chat_response;
mod delete_session;
mod describe;
mod follow;
mod human_request;
mod loaded_run;
mod question;
mod replay;
mod request_view;
mod user_input;
mod user_key;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::id::UserId;
use djinn_core::status::RunStatus;

use crate::client::ClientStream;
pub use crate::driver::continue_run;
use crate::driver::{DriveEnd, DriveParams};
use crate::ending::abandon_run;
pub use crate::leased_run::{LeasedRun, ServeContext};
use crate::port::clock::Clock;
use crate::port::mailbox::Mail;
use crate::port::{StoreError, too_large_failure};
pub use crate::response_capability::ResponseCapability;
use crate::sleep::wake_runs;
use crate::world::Ports;
pub use access::{
    AccessLevel, Permission, RunAccess, SessionAccess, authorize_run, authorize_session, end_share,
    list_shared_sessions,
};
pub use audit::load_audit;
pub use delete_session::delete_session;
pub use describe::{RunDescription, RunSnapshot, SnapshotState, describe_run};
use follow::{FollowEnd, follow_run};
pub use human_request::{
    ResponseStatus, list_requests, submit_response, timeout_setting, tool_schema,
};
pub use loaded_run::LoadedRun;
pub use question::{StartResult, start_background, start_streaming};
pub use replay::{ReplayFrom, invalid_cursor_failure, replay_run};
pub use request_view::{HumanRequestState, HumanRequestView, describe_request};
pub use user_input::{MessageStatus, PlanEditStatus, send_message, send_plan_edit};
pub use user_key::{UserKeyState, delete_user_key, list_user_keys, put_user_key, set_user_key};

/// Serves a client until the end of the run or of this response. Drives the run if it has no driver, and
/// follows it otherwise. `driving` is a run just created by this invocation.
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
                let LeasedRun { lease, lapsed, is_new, journal, driver } = *driving;
                let ServeContext { key, deadline, hops, .. } = &serving;
                let key = key.clone();
                let deadline = *deadline;
                let hops = *hops;
                let client = Some(client);
                let caller = None;
                let before = Vec::new();
                let drive = DriveParams {
                    key,
                    journal,
                    lease,
                    lapsed,
                    is_new,
                    earlier_records: before,
                    client,
                    caller,
                    deadline,
                    hops,
                };
                // Boxed, because many responses are served at once, and a driving response needs no space for
                // following.
                Box::pin(crate::driver::drive_run(ports, drive, driver)).await
            }
            None => match Box::pin(follow_run(ports, &serving, client)).await {
                FollowEnd::TakenOver { client: following, leased_run: run } => {
                    (client, driving) = (following, Some(run));
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

/// Requests a run's stop. Returns the status before the stop; an ended run stays unchanged. A run without a
/// driver and with an unreadable journal is abandoned, and the returned status is `failed`.
///
/// # Errors
/// Returns `store_unavailable` if the store cannot be reached.
pub async fn request_stop<P: Ports>(
    ports: &P,
    run: &mut LoadedRun,
    by: UserId,
) -> Result<RunStatus, Failure> {
    let status = run.meta().status;
    if status.has_ended() {
        return Ok(status);
    }
    if !run.meta().is_driven(ports.clock().now_ms())
        && let Err(StoreError::Unreadable(problem)) = run.advance(ports).await
    {
        let key = run.key();
        tracing::error!(problem, run_id = %key.run, "given up: its journal cannot be read");
        abandon_run(ports, key).await.map_err(|error| store_failure(&error))?;
        return Ok(RunStatus::Failed);
    }
    let stop = Mail::Stop { by };
    let stopping = async {
        run.wake(ports, &stop).await?;
        // Stop children in other invocations now, not only when their caller is driven.
        let children = match run.advance(ports).await {
            Ok(journal) => journal.run().running_children(),
            Err(error) if error.is_temporary() => return Err(error),
            // The driver read the journal before, and receives the stop.
            Err(_) => Vec::new(),
        };
        wake_runs(ports, children.into_iter().map(|child| run.key().with_child(child)), &stop)
            .await?;
        Ok(status)
    };
    stopping.await.map_err(|error| store_failure(&error))
}

/// Converts a store error to the failure of a request.
#[must_use]
pub fn store_failure(error: &StoreError) -> Failure {
    tracing::error!(%error, "store unavailable");
    match error {
        StoreError::Unavailable(_) | StoreError::Denied(_) => ErrorCode::StoreUnavailable.into(),
        StoreError::TooLarge(_) => too_large_failure(),
        StoreError::Unreadable(_) => ErrorCode::StoredDataUnreadable.into(),
        StoreError::NewerFormat(_) => ErrorCode::Internal.into(),
    }
}
