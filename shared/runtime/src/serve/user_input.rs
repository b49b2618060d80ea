//! What a person tells a run at work: a message, or a changed plan.

use std::time::Duration;

use djinn_core::error_code::{ErrorCode, Failure};
use djinn_core::input::{PlanEdit, UserMessage};
use djinn_core::plan::Plan;
use djinn_core::run::Run;
use djinn_core::status::RunStatus;

use super::chat_response::{ChatMessage, submit_chat_response};
use super::{load_meta, store_failure};
use crate::pages::read_journal;
use crate::port::RunKey;
use crate::port::checker::ContentOwner;
use crate::port::clock::Clock;
use crate::port::mailbox::Mail;
use crate::question::is_continue;
use crate::settings::to_millis;
use crate::sleep::wake_run;
use crate::texts::check_bounds;
use crate::world::Ports;

/// How long a word is waited for to be heard. It is heard later all the same.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// The first pause between two looks, and the longest.
const POLL_PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageStatus {
    /// The run has it; its model reads it at the next turn.
    Accepted,
    /// It went on with what was interrupted.
    Resumed,
    /// It waits for the run, which has not been heard of within a few seconds.
    Pending,
}

/// What became of a change of the plan.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanEditStatus {
    /// The plan is so now.
    Accepted {
        /// The version of the plan after the change.
        version: u32,
        /// The plan with the change in it.
        plan: Plan,
    },
    /// It is another by now, and was left as it is.
    Conflict {
        /// The version that a new change has to name.
        version: u32,
        /// The plan as it is now.
        plan: Plan,
    },
    /// The change waits for the run, which has not been heard of within a few seconds.
    Pending,
}

/// Tells a run at work something. `continue` goes on with what was interrupted, if something was.
///
/// # Errors
/// `run_not_found`, `run_ended` for one that has no further turn to read it, `store_unavailable`, or what
/// [`crate::content::ContentPolicy::screen_input`] says.
pub async fn send_message<P: Ports>(
    ports: &P,
    key: &RunKey,
    mut said: UserMessage,
) -> Result<MessageStatus, Failure> {
    check_bounds(&mut said)?;
    let meta = load_meta(ports, key).await?;
    if is_continue(&said.text) {
        let words =
            ChatMessage { by: &said.by, id: &said.id, text: &said.text, parsed_response: None };
        if submit_chat_response(ports, key, words).await?.is_response {
            return Ok(MessageStatus::Resumed);
        }
    }
    let journal = read_journal(ports, key).await.map_err(|error| store_failure(&error))?;
    if !journal.run().accepts_messages() {
        return Err(ended_failure(meta.status));
    }
    let session = meta.session_name();
    ports.content().screen_input(&mut said, ContentOwner::of(key, &meta.user, &session)).await?;
    let (id, mail) = (said.id.clone(), Mail::UserMessage { message: Box::new(said) });
    wake_run(ports, key, &mail).await.map_err(|error| store_failure(&error))?;
    let heard = poll_until(ports, key, |run| {
        if run.has_seen_id(&id) {
            Some(Ok(MessageStatus::Accepted))
        } else if run.status().has_ended() {
            Some(Err(ended_failure(run.status())))
        } else {
            None
        }
    });
    heard.await.unwrap_or(Ok(MessageStatus::Pending))
}

/// Changes the plan of a run at work.
///
/// # Errors
/// `run_not_found`, `run_ended`, `no_plan`, `invalid_field` for steps that make no plan,
/// `store_unavailable`, or what [`crate::content::ContentPolicy::screen_input`] says.
pub async fn send_plan_edit<P: Ports>(
    ports: &P,
    key: &RunKey,
    mut edited: PlanEdit,
) -> Result<PlanEditStatus, Failure> {
    check_bounds(&mut edited)?;
    let meta = load_meta(ports, key).await?;
    if meta.status.has_ended() {
        return Err(ended_failure(meta.status));
    }
    let journal = read_journal(ports, key).await.map_err(|error| store_failure(&error))?;
    let run = journal.run();
    match run.edited_plan(&edited) {
        None => return Err(ErrorCode::NoPlan.into()),
        Some(_) if run.plan_version() != edited.version => return Ok(plan_conflict(run)),
        Some(Err(problem)) => {
            return Err(Failure::new(ErrorCode::InvalidField, format!("`steps`: {problem}")));
        }
        Some(Ok(_)) => {}
    }
    let session = meta.session_name();
    ports.content().screen_input(&mut edited, ContentOwner::of(key, &meta.user, &session)).await?;
    let (id, mail) = (edited.id.clone(), Mail::PlanEdited { edit: Box::new(edited.clone()) });
    wake_run(ports, key, &mail).await.map_err(|error| store_failure(&error))?;
    let heard = poll_until(ports, key, |run| {
        let plan = run.current_plan()?.clone();
        if run.has_seen_id(&id) {
            Some(Ok(PlanEditStatus::Accepted { version: run.plan_version(), plan }))
        } else if run.status().has_ended() {
            Some(Err(ended_failure(run.status())))
        } else {
            (run.plan_version() != edited.version).then(|| Ok(plan_conflict(run)))
        }
    });
    heard.await.unwrap_or(Ok(PlanEditStatus::Pending))
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

/// Looks at a run until `tell` tells something of it, or for some seconds.
pub(super) async fn poll_until<P: Ports, T>(
    ports: &P,
    key: &RunKey,
    tell: impl Fn(&Run) -> Option<T>,
) -> Option<T> {
    let gives_up_ms = ports.clock().now_ms().saturating_add(to_millis(ACCEPT_TIMEOUT));
    let (mut pause, longest) = POLL_PAUSES;
    while ports.clock().now_ms() < gives_up_ms {
        ports.clock().sleep(pause).await;
        pause = (pause * 2).min(longest);
        if let Ok(journal) = read_journal(ports, key).await
            && let Some(told) = tell(journal.run())
        {
            return Some(told);
        }
    }
    None
}
