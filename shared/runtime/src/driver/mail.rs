//! The mail of a run: when it is read, and that it is deleted once it is recorded.

use std::collections::BTreeSet;

use djinn_core::input::Input;

use super::background::{BackgroundWork, DriverEvent, MailRead};
use super::children::Children;
use super::driven_run::DrivenRun;
use super::live_writer::LiveWriter;
use super::poll_schedule::PollSchedule;
use super::timeouts::{expiry_input, needs_mail_before_expiry};
use crate::mailbox::read_mailbox;
use crate::port::mailbox::{Mail, Mailbox, MailboxContents};
use crate::world::Ports;

/// What was read of a mailbox, and when it is read again.
pub(super) struct MailIntake {
    poll: PollSchedule,
    /// What was put into the mailbox before this moment was read, Unix milliseconds.
    read_at_ms: i64,
    /// Mail that the next record holds.
    to_delete: Vec<String>,
    /// Mail that was recorded here, by its ids; its deletion may have failed.
    recorded_ids: BTreeSet<String>,
    being_deleted: BTreeSet<String>,
}

impl MailIntake {
    pub(super) fn new<P: Ports>(run: &DrivenRun<P>) -> Self {
        Self {
            poll: PollSchedule::for_mail(run.settings().mailbox_every, run.now_ms()),
            read_at_ms: i64::MIN,
            to_delete: Vec::new(),
            recorded_ids: BTreeSet::new(),
            being_deleted: BTreeSet::new(),
        }
    }

    /// When the mailbox is read next, Unix milliseconds; that of an ended run is not.
    pub(super) fn next_wake_ms<P: Ports>(&self, run: &DrivenRun<P>) -> Option<i64> {
        (!run.has_ended()).then(|| self.poll.at_ms())
    }

    pub(super) fn on_timer<P: Ports>(
        &mut self,
        now_ms: i64,
        run: &DrivenRun<P>,
        background: &mut BackgroundWork,
    ) {
        if run.has_ended() {
            return;
        }
        if needs_mail_before_expiry(run, self.read_at_ms, now_ms) {
            self.poll.make_due(now_ms);
        }
        if self.poll.begin_if_due(now_ms) {
            let (ports, key, session) = (run.ports().clone(), run.key().clone(), run.session_key());
            background.spawn_background(async move {
                let mailbox = read_mailbox(&ports, &key, &session).await;
                DriverEvent::MailRead(MailRead { at_ms: now_ms, mailbox })
            });
        }
    }

    /// Up to which moment the mailbox was read, Unix milliseconds.
    pub(super) fn read_at_ms(&self) -> i64 {
        self.read_at_ms
    }

    /// Mail that is in the journal, and may be in the mailbox still.
    pub(super) fn recorded_ids(&self) -> &BTreeSet<String> {
        &self.recorded_ids
    }

    /// A viewer who comes now misses text: its note in the mailbox is to be found within the second in which it
    /// expects that text.
    pub(super) fn expect_viewer(&mut self) {
        self.poll.shorten_pause();
    }

    /// There is a reason to expect mail.
    pub(super) fn expect_news(&mut self, now_ms: i64) {
        self.poll.expect_news(now_ms);
    }

    /// The mailbox was read, beside the loop: what the run is to be told of it.
    pub(super) async fn on_read<P: Ports>(
        &mut self,
        read: MailRead,
        run: &DrivenRun<P>,
        children: &Children,
        live_writer: &LiveWriter,
        background: &mut BackgroundWork,
    ) -> Vec<Input> {
        self.poll.finish_poll(run.now_ms());
        let mut inputs = self.mail_to_inputs(read, run, children, live_writer, background).await;
        inputs.extend(expiry_input(run, self.read_at_ms, run.now_ms()));
        inputs
    }

    /// Whether time has run out for somebody who may have answered.
    pub(super) fn needs_reading<P: Ports>(&self, run: &DrivenRun<P>) -> bool {
        needs_mail_before_expiry(run, self.read_at_ms, run.now_ms())
    }

    /// Reads the mailbox while the loop waits.
    pub(super) async fn read_now<P: Ports>(&self, run: &DrivenRun<P>) -> MailRead {
        let at_ms = run.now_ms();
        let mailbox = read_mailbox(run.ports(), run.key(), &run.session_key()).await;
        MailRead { at_ms, mailbox }
    }

    /// What the run is to be told of its mail.
    pub(super) async fn mail_to_inputs<P: Ports>(
        &mut self,
        read: MailRead,
        run: &DrivenRun<P>,
        children: &Children,
        live_writer: &LiveWriter,
        background: &mut BackgroundWork,
    ) -> Vec<Input> {
        let mail = self.take_mail(read, run, live_writer, background);
        if !mail.is_empty() && children.has_remote(run) {
            // Children that began together end together, more or less.
            self.poll.expect_news(run.now_ms());
        }
        let stops = mail.iter().any(|mail| matches!(mail, Mail::Stop { .. }));
        let partial = if stops { live_writer.screen_partial(run).await } else { None };
        mail.into_iter().map(|mail| mail.into_input(partial.clone())).collect()
    }

    /// The mail that the run is to be told. It is deleted after the next record: then it is in the
    /// journal, or was had already.
    fn take_mail<P: Ports>(
        &mut self,
        read: MailRead,
        run: &DrivenRun<P>,
        live_writer: &LiveWriter,
        background: &mut BackgroundWork,
    ) -> Vec<Mail> {
        let mail = match read.mailbox {
            Ok(MailboxContents { mail, watched_until_ms }) => {
                self.read_at_ms = read.at_ms;
                live_writer.set_watched_until(watched_until_ms);
                mail
            }
            Err(error) => {
                tracing::warn!(%error, "mailbox not read");
                Vec::new()
            }
        };
        let (recorded, new): (Vec<Mail>, Vec<Mail>) =
            mail.into_iter().partition(|mail| self.recorded_ids.contains(&mail.id()));
        self.delete_mail(run, background, recorded.iter().map(Mail::id).collect());
        self.to_delete.extend(new.iter().map(Mail::id));
        new
    }

    /// Deletes what was taken: it is recorded now.
    pub(super) fn delete_recorded<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        background: &mut BackgroundWork,
    ) {
        let ids = std::mem::take(&mut self.to_delete);
        self.recorded_ids.extend(ids.iter().cloned());
        self.delete_mail(run, background, ids);
    }

    /// Deletes mail beside the loop, but what is being deleted: where the store is slow, it is read
    /// a few times before it is gone.
    fn delete_mail<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        background: &mut BackgroundWork,
        mut ids: Vec<String>,
    ) {
        ids.retain(|id| self.being_deleted.insert(id.clone()));
        if ids.is_empty() {
            return;
        }
        let (ports, key) = (run.ports().clone(), run.key().clone());
        background.spawn_background(async move {
            if let Err(error) = ports.store().delete_mail(&key, &ids).await {
                tracing::warn!(%error, "mail not deleted");
            }
            DriverEvent::MailDeleted(ids)
        });
    }

    /// These are deleted, or could not be.
    pub(super) fn on_deleted(&mut self, ids: &[String]) {
        for id in ids {
            self.being_deleted.remove(id);
        }
    }
}
