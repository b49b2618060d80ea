//! Leaving a run: it has ended, waits for a message, or goes on in a fresh invocation.

use djinn_core::effect::Limit;
use djinn_core::input::Input;

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
        if self.needs_mail_before_expiry(self.run.now_ms()) && !self.hand_over.has_begun(&self.run)
        {
            self.record_mail().await?;
            if !self.needs_mail_before_expiry(self.run.now_ms()) {
                return Ok(());
            }
        }
        let reached = self.timeout_inputs(self.run.now_ms());
        if !reached.is_empty() && !self.hand_over.has_begun(&self.run) {
            return self.record_inputs(reached).await;
        }
        if self.is_only_waiting() { self.go_to_sleep().await } else { self.hand_over().await }
    }

    async fn go_to_sleep(&mut self) -> DriveResult {
        match self.lease.fall_asleep(&self.run, &self.recorded_mail).await {
            Ok((_, SleepResult::Asleep)) => {
                self.viewers.hand_over_client(self.run.now_ms());
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
            Ok((_, SleepResult::Superseded)) => {
                Err(DriveEnd::Superseded(self.viewers.take_client()))
            }
            Err(_) => Err(DriveEnd::StoreUnavailable(self.viewers.take_client())),
        }
    }

    /// Gives the run to a fresh invocation, at a record boundary.
    async fn hand_over(&mut self) -> DriveResult {
        let Some(hops) = self.hand_over.next_hops() else {
            return self.record_inputs(vec![Input::LimitReached { limit: Limit::Hops }]).await;
        };
        self.lease.release(&self.run).await;
        self.run.kick_successor(hops).await;
        self.viewers.hand_over_client(self.run.now_ms());
        Err(DriveEnd::HandedOver)
    }
}
