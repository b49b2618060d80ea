//! Leaving a run: it has ended, waits for a message, or goes on in a fresh invocation.

use djinn_core::effect::Limit;
use djinn_core::input::Input;
use djinn_core::run::MAX_HOPS;
use djinn_core::status::RunStatus;

use super::{DriveEnd, DriveResult, Driver};
use crate::mailbox::read_mailbox;
use crate::port::Ports;
use crate::port::alarm::{Alarms, Invoker};
use crate::port::journal::Journals;
use crate::port::lease::Leases;
use crate::settings::to_millis;
use crate::sleep::{SleepResult, fall_asleep};

impl<P: Ports> Driver<P> {
    /// Nothing is in flight and nothing can start.
    pub(super) async fn wind_down(&mut self) -> DriveResult {
        self.account.settle_all(&self.ports).await;
        if self.has_ended() {
            // What could not be delivered now, the alarm brings back.
            return Err(DriveEnd::Ended);
        }
        // One that was brought back because time ran out is told so before it sleeps again.
        if self.needs_mail_before_expiry(self.now_ms()) && !self.is_handing_over() {
            self.record_mail().await?;
            if !self.needs_mail_before_expiry(self.now_ms()) {
                return Ok(());
            }
        }
        let reached = self.timeout_inputs(self.now_ms());
        if !reached.is_empty() && !self.is_handing_over() {
            return self.record_inputs(reached).await;
        }
        if self.is_only_waiting() { self.go_to_sleep().await } else { self.hand_over().await }
    }

    async fn go_to_sleep(&mut self) -> DriveResult {
        let session = self.session_key();
        let status = self.writer.run().status();
        let parks = status == RunStatus::Paused && self.key.task.is_none();
        let timed = parks && self.update_expiry_timer().await;
        let read_at_ms = self.now_ms();
        let slept =
            fall_asleep(&self.ports, &self.key, &session, &self.lease, status, &self.recorded_mail);
        match slept.await {
            Ok(SleepResult::Asleep) => {
                if timed {
                    self.park_run().await;
                }
                self.hand_over_client();
                Err(DriveEnd::Asleep)
            }
            Ok(SleepResult::Woken { lease, lapsed, mail }) => {
                let others_drove = lease.epoch > self.lease.epoch + 1;
                self.lease = lease.clone();
                self.lapsed = lapsed;
                // One that was under way was of the lease before.
                self.renew_at_ms = self.after_ms(self.ports.settings().renew_every);
                self.writer.set_lease(lease);
                if others_drove {
                    let written = self.writer.catch_up().await;
                    self.finish_write(written).await?;
                    self.record_resumption().await?;
                }
                let inputs = self.mail_to_inputs(read_at_ms, Ok(mail)).await;
                self.record_inputs(inputs).await
            }
            Ok(SleepResult::Superseded) => Err(DriveEnd::Superseded(self.client.take())),
            Err(error) => {
                tracing::warn!(%error, "fell asleep without looking");
                Err(DriveEnd::StoreUnavailable(self.client.take()))
            }
        }
    }

    /// Has the run brought back when the first of what it asks times out, if anything does.
    async fn update_expiry_timer(&mut self) -> bool {
        let (ports, key) = (self.ports.clone(), self.key.clone());
        let expiry = self.writer.run().next_expiry().map(|(_, at_ms)| at_ms);
        let timed = match expiry {
            Some(at_ms) => ports.alarms().set_timer(&key, at_ms).await,
            None => ports.alarms().remove_timer(&key).await,
        };
        // Without a timer the alarm stays, or nobody would notice that time ran out.
        if let Err(error) = &timed {
            tracing::warn!(%error, "the run's alarm rings on while it waits");
        }
        timed.is_ok()
    }

    /// The run waits for people, at no cost: its recurring alarm goes. It is nobody's now, so whoever
    /// has been woken meanwhile may have counted on that alarm: then it is made again.
    async fn park_run(&mut self) {
        let (ports, key, session) = (self.ports.clone(), self.key.clone(), self.session_key());
        let heard = self.recorded_mail.clone();
        let parked = async move {
            ports.alarms().remove_alarm(&key).await?;
            let meta = ports.store().find_meta(&key).await?;
            let status = meta.map_or(RunStatus::Failed, |meta| meta.status);
            let mail = read_mailbox(&ports, &key, &session).await?;
            let waits = status == RunStatus::Paused;
            let nothing_new = mail.iter().all(|mail| heard.contains(&mail.id()));
            if status.has_ended() || (waits && nothing_new) {
                return Ok(());
            }
            ports.alarms().set_alarm(&key).await?;
            ports.invoker().kick_run(&key, 0).await
        };
        if let Err(error) = parked.await {
            tracing::warn!(%error, "the run may be without its alarm until it is answered");
        }
    }

    /// Gives the run to a fresh invocation, at a record boundary.
    async fn hand_over(&mut self) -> DriveResult {
        if self.hops >= MAX_HOPS {
            return self.record_inputs(vec![Input::LimitReached { limit: Limit::Hops }]).await;
        }
        self.release_lease().await;
        let kicked = self.ports.invoker().kick_run(&self.key, self.hops + 1).await;
        if let Err(error) = kicked {
            // The alarm brings the run back, only later.
            tracing::warn!(%error, "no successor invoked");
        }
        self.hand_over_client();
        Err(DriveEnd::HandedOver)
    }

    fn hand_over_client(&mut self) {
        let now_ms = self.now_ms();
        if let Some(client) = &mut self.client {
            client.hand_over(now_ms);
        }
    }

    async fn release_lease(&mut self) {
        let (store, status) = (self.ports.store(), RunStatus::Running);
        if let Err(error) = store.release_lease(&self.key, &self.lease, status).await {
            let lapses_in_ms = to_millis(self.ports.settings().lease);
            tracing::warn!(%error, lapses_in_ms, "lease not released");
        }
    }
}
