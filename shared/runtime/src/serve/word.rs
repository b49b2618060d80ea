//! What a person tells a run at work: a message, or a changed plan.

use std::time::Duration;

use djinn_core::code::{ErrorCode, Failure};
use djinn_core::input::{PlanEdited, Said};
use djinn_core::plan::Plan;
use djinn_core::run::Run;
use djinn_core::status::RunStatus;

use super::chat::{Words, answer_in_chat};
use super::question::is_continue;
use super::{known, unavailable};
use crate::pages::read_journal;
use crate::port::checker::Whose;
use crate::port::clock::Clock;
use crate::port::mailbox::Mail;
use crate::port::{Ports, RunKey};
use crate::settings::milliseconds;
use crate::sleep::wake;
use crate::texts::bounded;

/// How long a word is waited for to be heard. It is heard later all the same.
const PATIENCE: Duration = Duration::from_secs(5);

/// The first pause between two looks, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The run has it; its model reads it at the next turn.
    Taken,
    /// It went on with what was interrupted.
    GoesOn,
    /// It waits for the run, which has not been heard of within a few seconds.
    Waiting,
}

/// What became of a change of the plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Edited {
    /// The plan is so now.
    Taken {
        /// Its version.
        version: u32,
        /// The plan.
        plan: Plan,
    },
    /// It is another by now, and was left as it is.
    Conflict {
        /// Its version.
        version: u32,
        /// The plan.
        plan: Plan,
    },
    /// The change waits for the run, which has not been heard of within a few seconds.
    Waiting,
}

/// Tells a run at work something. `continue` goes on with what was interrupted, if something was.
///
/// # Errors
/// `run_not_found`, `run_ended` for one that has no further turn to read it, `store_unavailable`, or what
/// [`crate::content::Content::let_in`] says.
pub async fn say<P: Ports>(ports: &P, key: &RunKey, mut said: Said) -> Result<Heard, Failure> {
    bounded(&mut said)?;
    let meta = known(ports, key).await?;
    if is_continue(&said.text) {
        let words = Words { by: &said.by, id: &said.id, text: &said.text, as_answer: None };
        if answer_in_chat(ports, key, words).await?.answers {
            return Ok(Heard::GoesOn);
        }
    }
    let journal = read_journal(ports, key).await.map_err(|error| unavailable(&error))?;
    if !journal.run().can_hear() {
        return Err(ended(meta.status));
    }
    let session = meta.session_name();
    ports.content().let_in(&mut said, Whose::of(key, &meta.user, &session)).await?;
    let (id, mail) = (said.id.clone(), Mail::Said { said: Box::new(said) });
    wake(ports, key, &mail).await.map_err(|error| unavailable(&error))?;
    let heard = heard(ports, key, |run| {
        if run.has_heard(&id) {
            Some(Ok(Heard::Taken))
        } else if run.status().has_ended() {
            Some(Err(ended(run.status())))
        } else {
            None
        }
    });
    heard.await.unwrap_or(Ok(Heard::Waiting))
}

/// Changes the plan of a run at work.
///
/// # Errors
/// `run_not_found`, `run_ended`, `no_plan`, `invalid_field` for steps that make no plan,
/// `store_unavailable`, or what [`crate::content::Content::let_in`] says.
pub async fn edit<P: Ports>(
    ports: &P,
    key: &RunKey,
    mut edited: PlanEdited,
) -> Result<Edited, Failure> {
    bounded(&mut edited)?;
    let meta = known(ports, key).await?;
    if meta.status.has_ended() {
        return Err(ended(meta.status));
    }
    let journal = read_journal(ports, key).await.map_err(|error| unavailable(&error))?;
    let run = journal.run();
    match run.edited(&edited) {
        None => return Err(ErrorCode::NoPlan.into()),
        Some(_) if run.plan_version() != edited.version => return Ok(conflict(run)),
        Some(Err(problem)) => {
            return Err(Failure::new(ErrorCode::InvalidField, format!("`steps`: {problem}")));
        }
        Some(Ok(_)) => {}
    }
    let session = meta.session_name();
    ports.content().let_in(&mut edited, Whose::of(key, &meta.user, &session)).await?;
    let (id, mail) = (edited.id.clone(), Mail::PlanEdited { edited: Box::new(edited.clone()) });
    wake(ports, key, &mail).await.map_err(|error| unavailable(&error))?;
    let heard = heard(ports, key, |run| {
        let plan = run.plan_now()?.clone();
        if run.has_heard(&id) {
            Some(Ok(Edited::Taken { version: run.plan_version(), plan }))
        } else if run.status().has_ended() {
            Some(Err(ended(run.status())))
        } else {
            (run.plan_version() != edited.version).then(|| Ok(conflict(run)))
        }
    });
    heard.await.unwrap_or(Ok(Edited::Waiting))
}

fn conflict(run: &Run) -> Edited {
    let version = run.plan_version();
    run.plan_now().map_or(Edited::Waiting, |plan| Edited::Conflict { version, plan: plan.clone() })
}

fn ended(status: RunStatus) -> Failure {
    Failure::new(ErrorCode::RunEnded, status.as_str())
}

/// Looks at a run until `tell` tells something of it, or for some seconds.
pub(super) async fn heard<P: Ports, T>(
    ports: &P,
    key: &RunKey,
    tell: impl Fn(&Run) -> Option<T>,
) -> Option<T> {
    let gives_up_ms = ports.clock().now_ms().saturating_add(milliseconds(PATIENCE));
    let (mut pause, longest) = PAUSES;
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
