//! The stop of a driver: the run has ended, waits, or continues in another invocation.

use std::time::Duration;

use djinn_core::effect::{Delivery, Effect, Limit};
use djinn_core::input::Input;

use super::Driver;
use super::background::MailRead;
use super::drive::{DriveEnd, DriveResult};
use super::timeouts::timeout_inputs;
use crate::port::clock::Clock;
use crate::sleep::SleepResult;
use crate::world::Ports;

/// The time for work that an ended run still owes, before its client's response ends.
const MAX_CLOSING: Duration = Duration::from_millis(700);

/// The time for invoking the function that does the rest.
const MAX_KICK: Duration = Duration::from_millis(200);

impl<P: Ports> Driver<P> {
    /// Returns true if the client of an ended run waits for the end of its response.
    pub(super) fn holds_ended_response(&self) -> bool {
        self.run.has_ended() && self.viewers.client().is_some()
    }

    /// Does what an ended run owes for as long as its client's response may stay open, and leaves the rest to
    /// another invocation: this one is frozen once its response has ended.
    pub(super) async fn close_in_time(mut self) -> DriveEnd {
        let ports = self.run.ports().clone();
        let clock = ports.clock();
        let closing = async {
            while self.run_iteration().await.is_ok() {}
            self.costs.close(&self.run).await;
        };
        let is_closed = tokio::select! {
            biased;
            () = closing => true,
            () = clock.sleep(MAX_CLOSING) => false,
        };
        if !is_closed {
            tracing::warn!("the response of an ended run ends before everything is delivered");
        }
        // The alarm, if there is one, rings until it is removed.
        let needs_kick = |effect: &Effect| *effect != Effect::Deliver(Delivery::AlarmRemoval);
        if self.run.state().due().iter().any(needs_kick) {
            tokio::select! {
                biased;
                () = self.run.kick_successor(0) => {}
                () = clock.sleep(MAX_KICK) => {}
            }
        }
        DriveEnd::Ended
    }

    /// Stops an idle driver: the run has ended, waits, or continues elsewhere.
    pub(super) async fn wind_down(&mut self) -> DriveResult {
        self.costs.settle_all(&self.run).await;
        if self.run.has_ended() {
            // The alarm brings the run back for deliveries that failed now.
            return Err(DriveEnd::Ended);
        }
        // A run woken by an expiry records the expiry before it sleeps again.
        if self.mail.needs_reading(&self.run) && !self.hand_over.has_begun(&self.run) {
            let mail = self.mail.read_now(&self.run).await;
            self.record_mail(mail).await?;
            if !self.mail.needs_reading(&self.run) {
                return Ok(());
            }
        }
        let timeouts = timeout_inputs(&self.run, self.mail.read_at_ms(), self.run.now_ms());
        if !timeouts.is_empty() && !self.hand_over.has_begun(&self.run) {
            return self.record_inputs(timeouts).await;
        }
        let sleeps = self.children.is_only_waiting(&self.run);
        if sleeps { self.go_to_sleep().await } else { self.hand_over().await }
    }

    async fn go_to_sleep(&mut self) -> DriveResult {
        match self.lease.fall_asleep(&self.run, self.mail.recorded_ids()).await {
            Ok((_, SleepResult::Asleep)) => {
                self.viewers.hand_over_client(&self.run);
                Err(DriveEnd::Asleep)
            }
            Ok((read_at_ms, SleepResult::Woken { lease, lapsed, mailbox })) => {
                if self.lease.retake(&self.run, lease, lapsed) {
                    let outcome = self.run.catch_up(self.lease.lease(), self.costs.account()).await;
                    self.finish_write(outcome).await?;
                    self.record_resumption().await?;
                }
                self.record_mail(MailRead { at_ms: read_at_ms, mailbox: Ok(mailbox) }).await
            }
            Ok((_, SleepResult::Superseded)) => {
                Err(DriveEnd::Superseded(self.viewers.take_client()))
            }
            Err(_) => Err(DriveEnd::StoreUnavailable(self.viewers.take_client())),
        }
    }

    /// Hands the run to a fresh invocation, at a record boundary.
    async fn hand_over(&mut self) -> DriveResult {
        let Some(hops) = self.hand_over.next_hops() else {
            return self.record_inputs(vec![Input::LimitReached { limit: Limit::Hops }]).await;
        };
        self.lease.release(&self.run).await;
        self.run.kick_successor(hops).await;
        self.viewers.hand_over_client(&self.run);
        Err(DriveEnd::HandedOver)
    }
}
