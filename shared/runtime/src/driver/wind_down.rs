//! Leaving a run: it has ended, waits for a message, or goes on in a fresh invocation.

use djinn_core::effect::Limit;
use djinn_core::input::Input;

use super::{DriveEnd, DriveResult, Driver, MailRead, timeout_inputs};
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
        if self.mail.needs_reading(&self.run) && !self.hand_over.has_begun(&self.run) {
            let read = self.mail.read_now(&self.run).await;
            self.record_mail(read).await?;
            if !self.mail.needs_reading(&self.run) {
                return Ok(());
            }
        }
        let reached = timeout_inputs(&self.run, &self.mail, self.run.now_ms());
        if !reached.is_empty() && !self.hand_over.has_begun(&self.run) {
            return self.record_inputs(reached).await;
        }
        match self.children.is_only_waiting(&self.run) {
            true => self.go_to_sleep().await,
            false => self.hand_over().await,
        }
    }

    async fn go_to_sleep(&mut self) -> DriveResult {
        match self.lease.fall_asleep(&self.run, self.mail.recorded_ids()).await {
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
                self.record_mail(MailRead { at_ms: read_at_ms, mail: Ok(mail) }).await
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
