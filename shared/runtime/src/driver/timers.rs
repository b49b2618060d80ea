//! What the driver does because time has passed: heartbeats, mail, the lease, the live log, limits.

use djinn_core::effect::EffectId;
use djinn_core::input::Input;

use super::Driver;
use super::background::DriverEvent;
use crate::client::ClientStream;
use crate::port::Ports;
use crate::port::live::LiveLog;

impl<P: Ports> Driver<P> {
    /// When the loop has to look around even if nothing happens.
    pub(super) fn next_wake_ms(&self) -> i64 {
        let now_ms = self.run.now_ms();
        let viewers = self.viewers.next_wake_ms(&self.run);
        let hand_over = self.hand_over.next_wake_ms(now_ms);
        let idle = self.idle.next_wake_ms(&self.run, &self.viewers, &self.hand_over);
        let tended = (!self.run.has_ended()).then(|| {
            let run = self.run.state();
            let limit = run.next_limit().map_or(i64::MAX, |(_, at_ms)| at_ms);
            let expiry = run.next_expiry().map(|(_, at_ms)| at_ms);
            // One that has come is told when the mail was read.
            let expiry = expiry.filter(|at_ms| *at_ms > now_ms || *at_ms <= self.mail_read_at_ms);
            let limit = limit.min(expiry.unwrap_or(i64::MAX));
            self.mail_poll.at_ms().min(limit)
        });
        let lease = self.lease.next_wake_ms(&self.run);
        let tasks = self.waits_for_children().then_some(self.redispatch_at_ms);
        let live = self.watches_children().then(|| self.live_poll.at_ms());
        let flush = self.live_writer.flush_at_ms();
        let moments = [viewers, hand_over, idle, tended, lease, tasks, live, flush];
        moments.into_iter().flatten().min().unwrap_or(i64::MAX)
    }

    /// Does what is to be done at this moment, beside the loop.
    pub(super) fn on_timer(&mut self) -> Vec<Input> {
        let now_ms = self.run.now_ms();
        self.viewers.on_timer(now_ms, &self.run);
        if let Some(pieces) = self.live_writer.take_batch(now_ms) {
            let (ports, writer) = (self.run.ports().clone(), self.lease.lease().holder.clone());
            let key = self.run.key().without_task();
            self.background.spawn_background(async move {
                // The live log may lose pieces; the whole text follows in the journal.
                if let Err(error) = ports.store().write_live(&key, &writer, now_ms, &pieces).await {
                    tracing::debug!(%error, "live log not written");
                }
                DriverEvent::LiveWritten
            });
        }
        if self.run.has_ended() {
            return Vec::new();
        }
        if self.needs_mail_before_expiry(now_ms) {
            self.mail_poll.make_due(now_ms);
        }
        if self.mail_poll.begin_if_due(now_ms) {
            let mailbox = self.load_mail();
            self.background
                .spawn_background(async move { DriverEvent::MailRead(now_ms, mailbox.await) });
        }
        self.lease.on_timer(now_ms, &self.run, &mut self.background);
        if self.waits_for_children() && self.redispatch_at_ms <= now_ms {
            self.redispatch_at_ms = self.run.after_ms(self.run.settings().dispatch_every);
            self.postponed.retain(|id| !matches!(id, EffectId::Child(_)));
        }
        if self.watches_children() && self.live_poll.begin_if_due(now_ms) {
            self.poll_live_log();
        }
        self.timeout_inputs(now_ms)
    }

    /// What the run is to be told because of the time.
    pub(super) fn timeout_inputs(&self, now_ms: i64) -> Vec<Input> {
        let limit = self.run.state().next_limit().filter(|(_, at_ms)| *at_ms <= now_ms);
        let limit = limit.map(|(limit, _)| Input::LimitReached { limit });
        limit.into_iter().chain(self.expiry_input(now_ms)).collect()
    }

    /// What nobody has answered in time. Whoever did, while this process stood still or between two
    /// looks, is heard first: time has run out when the mailbox was read after that.
    pub(super) fn expiry_input(&self, now_ms: i64) -> Option<Input> {
        let expired = self.run.state().next_expiry();
        let (id, _) = expired.filter(|(_, at_ms)| *at_ms <= now_ms.min(self.mail_read_at_ms))?;
        Some(Input::HumanRequestExpired { request: id.clone() })
    }

    /// Whether time has run out for somebody who may have answered.
    pub(super) fn needs_mail_before_expiry(&self, now_ms: i64) -> bool {
        let expiry = self.run.state().next_expiry();
        expiry.is_some_and(|(_, at_ms)| at_ms <= now_ms && self.mail_read_at_ms < at_ms)
    }

    /// Whether tasks are at work in other invocations.
    pub(super) fn waits_for_children(&self) -> bool {
        !self.run.has_ended() && self.postponed.iter().any(|id| matches!(id, EffectId::Child(_)))
    }

    /// Leaves an effect alone that was given up, or that somebody else works on.
    pub(super) fn postpone_effect(&mut self, id: EffectId) {
        if matches!(id, EffectId::Child(_)) && !self.waits_for_children() {
            // Those that begin together have time to begin before they are looked after.
            self.redispatch_at_ms = self.run.after_ms(self.run.settings().dispatch_every);
            let now_ms = self.run.now_ms();
            self.mail_poll.expect_news(now_ms);
            self.live_poll.expect_news(now_ms);
        }
        self.postponed.insert(id);
    }

    /// Whether the client is to see what tasks do in other invocations, or has missed what one does here.
    fn watches_children(&self) -> bool {
        let client = self.viewers.open_client();
        let watches =
            |client: &ClientStream| self.waits_for_children() || client.has_missing_entries();
        !self.run.has_ended() && client.is_some_and(watches)
    }

    fn poll_live_log(&mut self) {
        let (ports, key) = (self.run.ports().clone(), self.run.key().clone());
        let misses = self.viewers.missing_entries();
        let mut reader = std::mem::take(&mut self.live_reader);
        self.background.spawn_background(async move {
            let read = reader.read_new(&ports, &key, &misses).await;
            DriverEvent::LiveRead(Box::new(reader), read)
        });
    }
}
