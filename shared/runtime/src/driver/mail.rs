//! Mail: what others tell the run.

use djinn_core::input::Input;

use super::Driver;
use super::happening::Happening;
use crate::port::file::Files;
use crate::port::journal::SessionKey;
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::{Ports, RunKey, StoreError};

/// Every message that the run can be told now. A file that is announced and has not arrived is left
/// in the mailbox.
pub(crate) async fn read_mailbox<P: Ports>(
    ports: &P,
    key: &RunKey,
    session: &SessionKey,
) -> Result<Vec<Mail>, StoreError> {
    let mut told = Vec::new();
    for mail in ports.store().mail(key).await? {
        if let Mail::FileAnnounced { file } = &mail {
            let found = ports.store().find_file(session, &file.name).await?;
            if found.is_none_or(|found| found.object != file.object) {
                continue;
            }
        }
        told.push(mail);
    }
    Ok(told)
}

impl<P: Ports> Driver<P> {
    /// The mailbox, read beside the loop or while it waits.
    pub(super) fn mailbox(&self) -> impl Future<Output = Result<Vec<Mail>, StoreError>> + use<P> {
        let (ports, key, session) = (self.ports.clone(), self.key.clone(), self.session());
        async move { read_mailbox(&ports, &key, &session).await }
    }

    /// The session that the run belongs to.
    pub(super) fn session(&self) -> SessionKey {
        SessionKey::of(self.writer.run().asked())
    }

    /// What the run is to be told of its mail. The mail is deleted after the next record: then it
    /// is in the journal, or was had already.
    pub(super) fn read_mail(
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
            mail.into_iter().partition(|mail| self.heard.contains(&mail.id()));
        self.delete_mail(heard.iter().map(Mail::id).collect());
        if !mail.is_empty() && self.waits_for_tasks() {
            // Tasks that began together end together, more or less.
            self.mail_look.expect_news(self.now_ms());
        }
        self.mail_to_delete.extend(mail.iter().map(Mail::id));
        let partial = self.live.partial();
        mail.into_iter().map(|mail| mail.into_input(partial.clone())).collect()
    }

    /// Deletes what was read: it is recorded now.
    pub(super) fn delete_recorded_mail(&mut self) {
        let ids = std::mem::take(&mut self.mail_to_delete);
        self.heard.extend(ids.iter().cloned());
        self.delete_mail(ids);
    }

    /// Deletes mail beside the loop, but what is being deleted: where the store is slow, it is read
    /// a few times before it is gone.
    fn delete_mail(&mut self, mut ids: Vec<String>) {
        ids.retain(|id| self.deleting.insert(id.clone()));
        if ids.is_empty() {
            return;
        }
        let (ports, key) = (self.ports.clone(), self.key.clone());
        self.in_flight.beside(async move {
            if let Err(error) = ports.store().delete_mail(&key, &ids).await {
                tracing::warn!(%error, "mail not deleted");
            }
            Happening::MailDeleted(ids)
        });
    }
}
