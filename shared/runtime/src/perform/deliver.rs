//! What is owed to others when a run or its work ends: made again and again until it is recorded.

use djinn_core::effect::Delivery;
use djinn_core::run::Run;

use crate::history::close;
use crate::port::clock::Clock;
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::{Ports, RunKey, StoreError};
use crate::settings::expiry_s;
use crate::sleep::{lay_to_rest, wake};

/// Makes a delivery of a run or task.
///
/// # Errors
/// [`StoreError`] when it may not have been made.
pub async fn deliver<P: Ports>(
    ports: &P,
    key: &RunKey,
    run: &Run,
    delivery: &Delivery,
) -> Result<(), StoreError> {
    match delivery {
        Delivery::AlarmRemoval => lay_to_rest(ports, key, run.has_asked()).await,
        Delivery::Outcome => put_outcome(ports, key, run).await,
        Delivery::Stop(task) => {
            let stop = Mail::Stop { by: run.asked().user.clone() };
            let task = key.with_task(task.clone());
            // Whoever works on it, or creates it after this, finds the message; nobody is woken for it.
            let expires_at_s = expiry_s(ports.settings(), ports.clock().now_ms());
            ports.store().put_mail(&task, &stop, expires_at_s).await?;
            close(ports, &task).await
        }
        Delivery::Asks(_) => {
            let Some(asks) = run.task_asks().map(Box::new) else { return Ok(()) };
            wake(ports, &key.without_task(), &Mail::TaskAsks { asks }).await
        }
        Delivery::Answer(feedback) => {
            let Some((task, answered)) = run.answer_for_task(feedback) else { return Ok(()) };
            let task = key.with_task(task.clone());
            let mail = Mail::Answered { answered: Box::new(answered) };
            // The run dispatches it after this.
            let expires_at_s = expiry_s(ports.settings(), ports.clock().now_ms());
            ports.store().put_mail(&task, &mail, expires_at_s).await
        }
    }
}

/// What the store never takes is not owed any more: whoever waits for it has a time of its own.
///
/// # Errors
/// [`StoreError`] when the delivery may be made later.
pub fn given_up_if_too_large(made: Result<(), StoreError>) -> Result<(), StoreError> {
    match made {
        Err(StoreError::TooLarge(what)) => {
            tracing::error!(what, "a delivery is given up: the store never takes it");
            Ok(())
        }
        made => made,
    }
}

/// Puts what an ended task owes into its run's mailbox; nothing for a run that is no task.
///
/// # Errors
/// [`StoreError`] when it may not be there.
pub async fn put_outcome<P: Ports>(ports: &P, key: &RunKey, run: &Run) -> Result<(), StoreError> {
    let Some(outcome) = run.task_outcome() else { return Ok(()) };
    let mail = Mail::TaskEnded { ended: Box::new(outcome.clone()) };
    wake(ports, &key.without_task(), &mail).await
}
