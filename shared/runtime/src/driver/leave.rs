//! Leaving a run: it has ended, waits for a message, or goes on in a fresh invocation.

use djinn_core::effect::Limit;
use djinn_core::input::Input;
use djinn_core::run::MAX_HOPS;

use super::{DriveEnd, Driver, Pass};
use crate::port::Ports;
use crate::port::alarm::Invoker;
use crate::port::lease::Leases;
use crate::settings::milliseconds;
use crate::sleep::{Slept, fall_asleep};

impl<P: Ports> Driver<P> {
    /// Nothing is in flight and nothing can start.
    pub(super) async fn leave(&mut self) -> Pass {
        self.account.leave(&self.ports).await;
        if self.has_ended() {
            // What could not be delivered now, the alarm brings back.
            return Err(DriveEnd::Ended);
        }
        if self.only_waits() { self.sleep().await } else { self.hand_over().await }
    }

    async fn sleep(&mut self) -> Pass {
        let session = self.session();
        match fall_asleep(&self.ports, &self.key, &session, &self.lease, &self.heard).await {
            Ok(Slept::Asleep) => {
                self.tell_client_how_to_go_on();
                Err(DriveEnd::Asleep)
            }
            Ok(Slept::Woken { lease, lapsed, mail }) => {
                let others_drove = lease.epoch > self.lease.epoch + 1;
                self.lease = lease.clone();
                self.lapsed = lapsed;
                // One that was under way was of the lease before.
                self.renew_at_ms = self.after_ms(self.ports.settings().renew_every);
                self.writer.under(lease);
                if others_drove {
                    let written = self.writer.catch_up().await;
                    self.wrote(written).await?;
                    self.resume().await?;
                }
                let inputs = self.read_mail(Ok(mail));
                self.record(inputs).await
            }
            Ok(Slept::Superseded) => Err(DriveEnd::Superseded(self.client.take())),
            Err(error) => {
                tracing::warn!(%error, "fell asleep without looking");
                Err(DriveEnd::Interrupted(self.client.take()))
            }
        }
    }

    /// Gives the run to a fresh invocation, at a record boundary.
    async fn hand_over(&mut self) -> Pass {
        if self.hops >= MAX_HOPS {
            return self.record(vec![Input::LimitReached { limit: Limit::Hops }]).await;
        }
        self.release().await;
        let kicked = self.ports.invoker().kick(&self.key, self.hops + 1).await;
        if let Err(error) = kicked {
            // The alarm brings the run back, only later.
            tracing::warn!(%error, "no successor invoked");
        }
        self.tell_client_how_to_go_on();
        Err(DriveEnd::HandedOver)
    }

    fn tell_client_how_to_go_on(&mut self) {
        let now_ms = self.now_ms();
        if let Some(client) = &mut self.client {
            client.hand_over(now_ms);
        }
    }

    async fn release(&mut self) {
        if let Err(error) = self.ports.store().release_lease(&self.key, &self.lease).await {
            let lapses_in_ms = milliseconds(self.ports.settings().lease);
            tracing::warn!(%error, lapses_in_ms, "lease not released");
        }
    }
}
