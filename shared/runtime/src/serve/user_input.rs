//! Users' input to an active run: a message, or a changed plan.

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::{PlanEdit, UserMessage};
use djinn_core::plan::Plan;
use djinn_core::run::Run;
use djinn_core::status::RunStatus;

use super::chat_response::{ChatMessage, submit_chat_response};
use super::{LoadedRun, ResponseCapability, store_failure};
use crate::port::checker::ContentOwner;
use crate::port::mailbox::Mail;
use crate::question::is_continue;
use crate::texts::check_bounds;
use crate::world::Ports;

/// The result of sending a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageStatus {
    /// The run has the message; the model reads it at the next turn.
    Accepted,
    /// The message resumed an interrupted run.
    Resumed,
    /// The message waits for the run, which did not record it within a few seconds.
    Pending,
}

/// The result of a plan edit.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanEditStatus {
    /// The plan was changed.
    Accepted {
        /// The version of the plan after the change.
        version: u32,
        /// The plan after the change.
        plan: Plan,
    },
    /// The plan had another version, and was left unchanged.
    Conflict {
        /// The version to name in a new edit.
        version: u32,
        /// The current plan, without the edit.
        plan: Plan,
    },
    /// The change waits for the run, which did not record it within a few seconds.
    Pending,
}

/// Sends a message to an active run. `continue` resumes interrupted work, if any.
///
/// # Errors
/// Returns `run_ended` if no further turn would read the message, and `session_busy` for a `continue` that the
/// capability does not allow. Returns `store_unavailable`, or an error of
/// [`crate::content::ContentPolicy::screen_input`].
pub async fn send_message<P: Ports>(
    ports: &P,
    run: &mut LoadedRun,
    mut user_message: UserMessage,
    capability: ResponseCapability,
) -> Result<MessageStatus, Failure> {
    check_bounds(&mut user_message)?;
    if is_continue(&user_message.text) {
        let words = ChatMessage {
            by: &user_message.by,
            id: &user_message.id,
            text: &user_message.text,
            parsed_response: None,
            capability,
        };
        if submit_chat_response(ports, run, words).await?.is_response {
            return Ok(MessageStatus::Resumed);
        }
    }
    let journal = run.advance(ports).await.map_err(|error| store_failure(&error))?;
    if journal.run().has_seen_id(&user_message.id) {
        return Ok(MessageStatus::Accepted);
    }
    if !journal.run().accepts_messages() {
        return Err(ended_failure(run.ended_status().unwrap_or(run.meta().status)));
    }
    let meta = run.meta();
    let session = run.meta().session_name();
    let owner = ContentOwner::of(run.key(), &meta.user, &session);
    ports.content().screen_input(&mut user_message, owner).await?;
    let id = user_message.id.clone();
    let mail = Mail::UserMessage { message: Box::new(user_message) };
    run.wake(ports, &mail).await.map_err(|error| store_failure(&error))?;
    let outcome = run.poll_until(ports, |run| {
        if run.has_seen_id(&id) {
            Some(Ok(MessageStatus::Accepted))
        } else if run.status().has_ended() {
            Some(Err(ended_failure(run.status())))
        } else {
            None
        }
    });
    outcome.await.unwrap_or(Ok(MessageStatus::Pending))
}

/// Changes the plan of an active run.
///
/// # Errors
/// Returns `run_ended`, `no_plan`, `invalid_field` for invalid steps, `store_unavailable`, or an error of
/// [`crate::content::ContentPolicy::screen_input`].
pub async fn send_plan_edit<P: Ports>(
    ports: &P,
    run: &mut LoadedRun,
    mut edit: PlanEdit,
) -> Result<PlanEditStatus, Failure> {
    check_bounds(&mut edit)?;
    if run.meta().status.has_ended() {
        return Err(ended_failure(run.meta().status));
    }
    let journal = run.advance(ports).await.map_err(|error| store_failure(&error))?;
    match journal.run().edited_plan(&edit) {
        None => return Err(ErrorCode::NoPlan.into()),
        Some(_) if journal.run().plan_version() != edit.version => {
            return Ok(plan_conflict(journal.run()));
        }
        Some(Err(problem)) => {
            return Err(Failure::new(ErrorCode::InvalidField, format!("`steps`: {problem}")));
        }
        Some(Ok(_)) => {}
    }
    let meta = run.meta();
    let session = run.meta().session_name();
    let owner = ContentOwner::of(run.key(), &meta.user, &session);
    ports.content().screen_input(&mut edit, owner).await?;
    let id = edit.id.clone();
    let mail = Mail::PlanEdited { edit: Box::new(edit.clone()) };
    run.wake(ports, &mail).await.map_err(|error| store_failure(&error))?;
    let outcome = run.poll_until(ports, |run| {
        let plan = run.current_plan()?.clone();
        if run.has_seen_id(&id) {
            Some(Ok(PlanEditStatus::Accepted { version: run.plan_version(), plan }))
        } else if run.status().has_ended() {
            Some(Err(ended_failure(run.status())))
        } else {
            (run.plan_version() != edit.version).then(|| Ok(plan_conflict(run)))
        }
    });
    outcome.await.unwrap_or(Ok(PlanEditStatus::Pending))
}

fn plan_conflict(run: &Run) -> PlanEditStatus {
    let version = run.plan_version();
    run.current_plan().map_or(PlanEditStatus::Pending, |plan| PlanEditStatus::Conflict {
        version,
        plan: plan.clone(),
    })
}

fn ended_failure(status: RunStatus) -> Failure {
    Failure::new(ErrorCode::RunEnded, status.as_str())
}
