//! Mail: what others tell the run.

use djinn_core::file::ProductFile;
use djinn_core::input::{Input, Partial};

use super::Driver;
use super::happening::Happening;
use crate::port::checker::Whose;
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
    let mut told = ports.store().mail(key).await?;
    let announced: Vec<ProductFile> = told.iter().filter_map(announced_of).cloned().collect();
    if !announced.is_empty() {
        let arrived = ports.store().arrived(session, &announced).await?;
        told.retain(|mail| announced_of(mail).is_none_or(|file| arrived.contains(file)));
    }
    Ok(told)
}

fn announced_of(mail: &Mail) -> Option<&ProductFile> {
    let Mail::FileAnnounced { file } = mail else { return None };
    Some(file)
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
    pub(super) async fn read_mail(
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
        let stops = mail.iter().any(|mail| matches!(mail, Mail::Stop { .. }));
        let partial = if stops { self.partial().await } else { None };
        mail.into_iter().map(|mail| mail.into_input(partial.clone())).collect()
    }

    /// What the message being written says so far, if it is let out.
    async fn partial(&mut self) -> Option<Partial> {
        let (partial, asked) = (self.live.partial()?, self.writer.run().asked());
        let (user, session) = (asked.user.clone(), asked.session_name());
        let whose = Whose::of(&self.key, &user, &session);
        self.ports.content().let_partial_out(partial, whose).await
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
