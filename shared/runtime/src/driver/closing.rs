//! The end of a client's response after its run ended, paused, or was handed over.
//!
//! The response ends within a second, whichever service is down, slow or denies access: on Lambda an open response
//! is billed, and the function is frozen once its response has ended.

use std::time::Duration;

use djinn_core::effect::{Delivery, Effect};

use super::driven_run::DrivenRun;
use crate::port::clock::run_within;
use crate::world::Ports;

/// The maximum time for the work that an ended or paused run still owes.
pub(super) const MAX_CLOSING: Duration = Duration::from_millis(700);

/// The maximum time for invoking the function that does the rest.
const MAX_KICK: Duration = Duration::from_millis(200);

/// Runs `closing` until done, for at most [`MAX_CLOSING`].
pub(super) async fn limit_closing<P: Ports>(ports: &P, closing: impl Future<Output = ()>) {
    if run_within(ports.clock(), MAX_CLOSING, closing).await.is_none() {
        tracing::warn!("the response of an ended run ends before everything is delivered");
    }
}

/// Invokes the executor for the deliveries that an ended run still owes. The removal of the alarm is left to the
/// alarm, which rings until it is removed.
pub(super) async fn leave_deliveries<P: Ports>(run: &DrivenRun<P>) {
    let alarm_removal = Effect::Deliver(Delivery::AlarmRemoval);
    if run.due().iter().any(|effect| *effect != alarm_removal) {
        leave_to_executor(run).await;
    }
}

/// Invokes the executor, for at most [`MAX_KICK`].
pub(super) async fn leave_to_executor<P: Ports>(run: &DrivenRun<P>) {
    if run_within(run.ports().clock(), MAX_KICK, run.kick_successor(0)).await.is_none() {
        tracing::warn!("no successor invoked in time");
    }
}
