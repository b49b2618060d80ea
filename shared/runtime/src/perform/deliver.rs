//! What is owed to others when a run or its work ends: made again and again until it is recorded.

use djinn_core::effect::Delivery;
use djinn_core::run::Run;

use crate::ending::{close_child, retire};
use crate::port::clock::Clock;
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::{Ports, RunKey, StoreError};
use crate::settings::expiry_s;
use crate::sleep::wake_run;

/// Makes a delivery of a run or task.
///
/// # Errors
/// [`StoreError`] when it may not have been made.
pub async fn make_delivery<P: Ports>(
    ports: &P,
    key: &RunKey,
    run: &Run,
    delivery: &Delivery,
) -> Result<(), StoreError> {
    match delivery {
        Delivery::AlarmRemoval => retire(ports, key, run.has_ever_requested()).await,
        Delivery::ChildResult => put_child_result(ports, key, run).await,
        Delivery::StopChild(task) => {
            let stop = Mail::Stop { by: run.spec().user.clone() };
            let task = key.with_task(task.clone());
            // Whoever works on it, or creates it after this, finds the message; nobody is woken for it.
            let expires_at_s = expiry_s(ports.settings(), ports.clock().now_ms());
            ports.store().put_mail(&task, &stop, expires_at_s).await?;
            close_child(ports, &task).await
        }
        Delivery::ChildRequest(_) => {
            let Some(asks) = run.child_request().map(Box::new) else { return Ok(()) };
            wake_run(ports, &key.without_task(), &Mail::ChildRequest { request: asks }).await
        }
        Delivery::HumanResponse(feedback) => {
            let Some((task, answered)) = run.response_for_child(feedback) else { return Ok(()) };
            let task = key.with_task(task.clone());
            let mail = Mail::HumanResponse { response: Box::new(answered) };
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
pub fn ignore_too_large(made: Result<(), StoreError>) -> Result<(), StoreError> {
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
pub async fn put_child_result<P: Ports>(
    ports: &P,
    key: &RunKey,
    run: &Run,
) -> Result<(), StoreError> {
    let Some(outcome) = run.child_result() else { return Ok(()) };
    let mail = Mail::ChildEnded { ended: Box::new(outcome.clone()) };
    wake_run(ports, &key.without_task(), &mail).await
}
