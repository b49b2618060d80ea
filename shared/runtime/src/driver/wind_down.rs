//! Leaving a run: it has ended, waits for a message, or goes on in a fresh invocation.

use djinn_core::effect::Limit;
use djinn_core::input::Input;
use djinn_core::run::MAX_HOPS;

use super::{DriveEnd, DriveResult, Driver};
use crate::port::Ports;
use crate::sleep::SleepResult;

impl<P: Ports> Driver<P> {
    /// Nothing is in flight and nothing can start.
    pub(super) async fn wind_down(&mut self) -> DriveResult {
        self.costs.settle_all(&self.run).await;
        if self.run.has_ended() {
            // What could not be delivered now, the alarm brings back.
            return Err(DriveEnd::Ended);
        }
        // One that was brought back because time ran out is told so before it sleeps again.
        if self.needs_mail_before_expiry(self.run.now_ms()) && !self.is_handing_over() {
            self.record_mail().await?;
            if !self.needs_mail_before_expiry(self.run.now_ms()) {
                return Ok(());
            }
        }
        let reached = self.timeout_inputs(self.run.now_ms());
        if !reached.is_empty() && !self.is_handing_over() {
            return self.record_inputs(reached).await;
        }
        if self.is_only_waiting() { self.go_to_sleep().await } else { self.hand_over().await }
    }

    async fn go_to_sleep(&mut self) -> DriveResult {
        match self.lease.fall_asleep(&self.run, &self.recorded_mail).await {
            Ok((_, SleepResult::Asleep)) => {
                self.hand_over_client();
                Err(DriveEnd::Asleep)
            }
            Ok((read_at_ms, SleepResult::Woken { lease, lapsed, mail })) => {
                if self.lease.retake(&self.run, lease, lapsed) {
                    let written = self.run.catch_up(&self.lease, &self.costs).await;
                    self.finish_write(written).await?;
                    self.record_resumption().await?;
                }
                let inputs = self.mail_to_inputs(read_at_ms, Ok(mail)).await;
                self.record_inputs(inputs).await
            }
            Ok((_, SleepResult::Superseded)) => Err(DriveEnd::Superseded(self.client.take())),
            Err(_) => Err(DriveEnd::StoreUnavailable(self.client.take())),
        }
    }

    /// Gives the run to a fresh invocation, at a record boundary.
    async fn hand_over(&mut self) -> DriveResult {
        if self.hops >= MAX_HOPS {
            return self.record_inputs(vec![Input::LimitReached { limit: Limit::Hops }]).await;
        }
        self.lease.release(&self.run).await;
        self.run.kick_successor(self.hops + 1).await;
        self.hand_over_client();
        Err(DriveEnd::HandedOver)
    }

    fn hand_over_client(&mut self) {
        let now_ms = self.run.now_ms();
        if let Some(client) = &mut self.client {
            client.hand_over(now_ms);
        }
    }
}
