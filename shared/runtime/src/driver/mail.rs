//! The mail of a run: polling, and deletion after recording.

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

/// The mail read so far, and the schedule of further reads.
pub(super) struct MailIntake {
    poll: PollSchedule,
    /// All mail put before this moment was read, in Unix milliseconds.
    read_at_ms: i64,
    /// Ids of mail in the next record.
    to_delete: Vec<String>,
    /// Ids of mail recorded here; the deletion may have failed.
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

    /// Returns the time of the next read, in Unix milliseconds. `None` for an ended run.
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
            let ports = run.ports().clone();
            let key = run.key().clone();
            let session = run.session_key();
            background.spawn_background(async move {
                let mailbox = read_mailbox(&ports, &key, &session).await;
                DriverEvent::MailRead(MailRead { at_ms: now_ms, mailbox })
            });
        }
    }

    /// Returns the time of the last mailbox read, in Unix milliseconds.
    pub(super) fn read_at_ms(&self) -> i64 {
        self.read_at_ms
    }

    /// Returns the ids of mail in the journal; the mail may still be in the mailbox.
    pub(super) fn recorded_ids(&self) -> &BTreeSet<String> {
        &self.recorded_ids
    }

    /// Shortens the pause, so a new viewer's note in the mailbox is found within one second. The viewer
    /// expects text within this second.
    pub(super) fn expect_viewer(&mut self) {
        self.poll.shorten_pause();
    }

    /// Polls soon: mail is likely.
    pub(super) fn expect_news(&mut self, now_ms: i64) {
        self.poll.expect_news(now_ms);
    }

    /// Takes a mailbox read beside the loop. Returns the inputs for the run.
    pub(super) async fn on_read<P: Ports>(
        &mut self,
        mail_read: MailRead,
        run: &DrivenRun<P>,
        children: &Children,
        live_writer: &LiveWriter,
        background: &mut BackgroundWork,
    ) -> Vec<Input> {
        self.poll.finish_poll(run.now_ms());
        let mut inputs =
            self.mail_to_inputs(mail_read, run, children, live_writer, background).await;
        inputs.extend(expiry_input(run, self.read_at_ms, run.now_ms()));
        inputs
    }

    /// Returns true if a request has expired and the mailbox may hold a response put in time.
    pub(super) fn needs_reading<P: Ports>(&self, run: &DrivenRun<P>) -> bool {
        needs_mail_before_expiry(run, self.read_at_ms, run.now_ms())
    }

    /// Reads the mailbox while the loop waits.
    pub(super) async fn read_now<P: Ports>(&self, run: &DrivenRun<P>) -> MailRead {
        let at_ms = run.now_ms();
        let mailbox = read_mailbox(run.ports(), run.key(), &run.session_key()).await;
        MailRead { at_ms, mailbox }
    }

    /// Converts new mail to inputs.
    pub(super) async fn mail_to_inputs<P: Ports>(
        &mut self,
        mail_read: MailRead,
        run: &DrivenRun<P>,
        children: &Children,
        live_writer: &LiveWriter,
        background: &mut BackgroundWork,
    ) -> Vec<Input> {
        let mail = self.take_mail(mail_read, run, live_writer, background);
        if !mail.is_empty() && children.has_remote(run) {
            // Children that began together usually end together.
            self.poll.expect_news(run.now_ms());
        }
        let stops = mail.iter().any(|mail| matches!(mail, Mail::Stop { .. }));
        let partial = if stops { live_writer.screen_partial(run).await } else { None };
        mail.into_iter().map(|mail| mail.into_input(partial.clone())).collect()
    }

    /// Returns the new mail. Each piece is deleted after the next record: by then it is in the journal, or
    /// was already.
    fn take_mail<P: Ports>(
        &mut self,
        mail_read: MailRead,
        run: &DrivenRun<P>,
        live_writer: &LiveWriter,
        background: &mut BackgroundWork,
    ) -> Vec<Mail> {
        let mail = match mail_read.mailbox {
            Ok(MailboxContents { mail, watched_until_ms }) => {
                self.read_at_ms = mail_read.at_ms;
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

    /// Deletes the mail taken before, which is now recorded.
    pub(super) fn delete_recorded<P: Ports>(
        &mut self,
        run: &DrivenRun<P>,
        background: &mut BackgroundWork,
    ) {
        let ids = std::mem::take(&mut self.to_delete);
        self.recorded_ids.extend(ids.iter().cloned());
        self.delete_mail(run, background, ids);
    }

    /// Deletes mail beside the loop, except mail already being deleted. A slow store returns the same mail
    /// several times.
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
        let ports = run.ports().clone();
        let key = run.key().clone();
        background.spawn_background(async move {
            if let Err(error) = ports.store().delete_mail(&key, &ids).await {
                tracing::warn!(%error, "mail not deleted");
            }
            DriverEvent::MailDeleted(ids)
        });
    }

    /// Takes the end of a deletion, successful or not.
    pub(super) fn on_deleted(&mut self, ids: &[String]) {
        for id in ids {
            self.being_deleted.remove(id);
        }
    }
}
