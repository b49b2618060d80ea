//! Mail: what others tell the run.

use djinn_core::input::{Input, PartialMessage};

use super::Driver;
use super::background::DriverEvent;
use crate::mailbox::read_mailbox;
use crate::port::checker::ContentOwner;
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::{Ports, StoreError};

impl<P: Ports> Driver<P> {
    /// The mailbox, read beside the loop or while it waits.
    pub(super) fn load_mail(&self) -> impl Future<Output = Result<Vec<Mail>, StoreError>> + use<P> {
        let (ports, key, session) =
            (self.run.ports().clone(), self.run.key().clone(), self.run.session_key());
        async move { read_mailbox(&ports, &key, &session).await }
    }

    /// What the run is to be told of its mail. The mail is deleted after the next record: then it
    /// is in the journal, or was had already.
    pub(super) async fn mail_to_inputs(
        &mut self,
        read_at_ms: i64,
        mail: Result<Vec<Mail>, StoreError>,
    ) -> Vec<Input> {
        let mail = match mail {
            Ok(mail) => {
                self.mail_read_at_ms = read_at_ms;
                mail
            }
            Err(error) => {
                tracing::warn!(%error, "mailbox not read");
                Vec::new()
            }
        };
        let (heard, mail): (Vec<Mail>, Vec<Mail>) =
            mail.into_iter().partition(|mail| self.recorded_mail.contains(&mail.id()));
        self.delete_mail(heard.iter().map(Mail::id).collect());
        if !mail.is_empty() && self.waits_for_children() {
            // Tasks that began together end together, more or less.
            self.mail_poll.expect_news(self.run.now_ms());
        }
        self.mail_to_delete.extend(mail.iter().map(Mail::id));
        let stops = mail.iter().any(|mail| matches!(mail, Mail::Stop { .. }));
        let partial = if stops { self.screen_partial().await } else { None };
        mail.into_iter().map(|mail| mail.into_input(partial.clone())).collect()
    }

    /// What the message being written says so far, if it is let out.
    async fn screen_partial(&mut self) -> Option<PartialMessage> {
        let (partial, asked) = (self.live_writer.latest_partial()?, self.run.state().spec());
        let (user, session) = (asked.user.clone(), asked.session_name());
        let whose = ContentOwner::of(self.run.key(), &user, &session);
        self.run.ports().content().screen_partial(partial, whose).await
    }

    /// Deletes what was read: it is recorded now.
    pub(super) fn delete_recorded_mail(&mut self) {
        let ids = std::mem::take(&mut self.mail_to_delete);
        self.recorded_mail.extend(ids.iter().cloned());
        self.delete_mail(ids);
    }

    /// Deletes mail beside the loop, but what is being deleted: where the store is slow, it is read
    /// a few times before it is gone.
    fn delete_mail(&mut self, mut ids: Vec<String>) {
        ids.retain(|id| self.mail_being_deleted.insert(id.clone()));
        if ids.is_empty() {
            return;
        }
        let (ports, key) = (self.run.ports().clone(), self.run.key().clone());
        self.background.spawn_background(async move {
            if let Err(error) = ports.store().delete_mail(&key, &ids).await {
                tracing::warn!(%error, "mail not deleted");
            }
            DriverEvent::MailDeleted(ids)
        });
    }
}
