//! Deliveries at the end of a run or its work, repeated until recorded.

use djinn_core::effect::{Delivery, Effect};
use djinn_core::id::WriteId;
use djinn_core::input::Input;
use djinn_core::journal::Journal;

use super::plan::PlanWrite;
use crate::ending::{retire, stop_child};
use crate::pages::JournalReader;
use crate::port::clock::Clock;
use crate::port::journal::{AppendResult, Journals};
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::{RunKey, StoreError};
use crate::settings::{expiry_s, journal_expiry_s};
use crate::sleep::wake_run;
use crate::world::Ports;

/// Makes a delivery of a run or child.
///
/// # Errors
/// Returns [`StoreError`] if the delivery may not have been made.
pub async fn make_delivery<P: Ports>(
    ports: &P,
    key: &RunKey,
    journal: &Journal,
    delivery: &Delivery,
) -> Result<(), StoreError> {
    let run = journal.run();
    match delivery {
        Delivery::AlarmRemoval => retire(ports, key, run.may_have_timer()).await,
        Delivery::ChildResult => put_child_result(ports, key, journal).await,
        Delivery::StopChild(child) => {
            stop_child(ports, &key.with_child(child.clone()), &run.spec().user).await
        }
        Delivery::ChildRequest(_) => {
            let Some(request) = run.child_request().map(Box::new) else { return Ok(()) };
            let mail = Mail::ChildRequest { request };
            match key.parent() {
                Some(parent) => wake_run(ports, &parent, &mail).await.map(drop),
                None => Ok(()),
            }
        }
        Delivery::HumanResponse(request) => {
            let Some((child, response)) = run.response_for_child(request) else { return Ok(()) };
            let child = key.with_child(child.clone());
            let mail = Mail::HumanResponse { response: Box::new(response) };
            // The run dispatches the child after this delivery.
            let expires_at_s = expiry_s(ports.settings(), ports.clock().now_ms());
            ports.store().put_mail(&child, &mail, expires_at_s).await
        }
    }
}

/// Drops a delivery the store can never accept. The recipient has a timeout of its own.
///
/// # Errors
/// Returns [`StoreError`] if the delivery may succeed later.
pub fn ignore_too_large(outcome: Result<(), StoreError>) -> Result<(), StoreError> {
    match outcome {
        Err(StoreError::TooLarge(what)) => {
            tracing::error!(what, "a delivery is abandoned: the store never takes it");
            Ok(())
        }
        outcome => outcome,
    }
}

/// Puts an ended child's result into its caller's mailbox. Does nothing for a root run.
///
/// # Errors
/// Returns [`StoreError`] if the mail may be missing.
pub async fn put_child_result<P: Ports>(
    ports: &P,
    key: &RunKey,
    journal: &Journal,
) -> Result<(), StoreError> {
    let Some(parent) = key.parent() else { return Ok(()) };
    let Some(result) = journal.child_result() else { return Ok(()) };
    let mail = Mail::ChildEnded { ended: Box::new(result) };
    wake_run(ports, &parent, &mail).await.map(drop)
}

/// Makes the deliveries an ended run still owes. Needs no lease: each delivery and its record are idempotent.
///
/// # Errors
/// Returns [`StoreError`] if a delivery may not have been made.
pub(crate) async fn deliver_owed<P: Ports>(ports: &P, key: &RunKey) -> Result<(), StoreError> {
    let mut reader = JournalReader::default();
    reader.advance(ports, key, |_| {}).await?;
    let Ok(mut journal) = reader.into_journal() else {
        tracing::info!(run_id = %key.run, "the journal has expired");
        return Ok(());
    };
    make_deliveries(ports, key, &mut journal).await?;
    // A caller that dispatches an ended child has not received the end.
    ignore_too_large(put_child_result(ports, key, &journal).await)
}

async fn make_deliveries<P: Ports>(
    ports: &P,
    key: &RunKey,
    journal: &mut Journal,
) -> Result<(), StoreError> {
    loop {
        let mut inputs = Vec::new();
        for effect in journal.run().due() {
            match effect {
                Effect::Deliver(delivery) => {
                    let outcome = make_delivery(ports, key, journal, &delivery).await;
                    ignore_too_large(outcome)?;
                    inputs.push(Input::Delivered { delivery });
                }
                Effect::SavePlan { version } => {
                    let keeping = PlanWrite::of(ports.clone(), journal.run(), version);
                    inputs.extend(keeping.perform().await);
                }
                _ => {}
            }
        }
        let now_ms = ports.clock().now_ms();
        let write = WriteId::new(format!("delivered.{}", journal.next_number()));
        let write = write.map_err(|error| StoreError::Unreadable(error.to_string()))?;
        let decision = journal.decide_record(inputs, journal.epoch(), write, now_ms);
        let Some((mut after, record)) = decision else { return Ok(()) };
        let expires_at_s = journal_expiry_s(ports.settings(), after.run());
        match ports.store().append(key, &record, expires_at_s).await? {
            // Earlier deliveries may make further deliveries due.
            AppendResult::Appended(hash) => {
                after.set_head(hash);
                *journal = after;
            }
            // Another process delivered at the same time.
            AppendResult::Conflict => return Ok(()),
        }
    }
}
