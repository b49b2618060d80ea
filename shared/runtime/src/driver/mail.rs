//! Mail: what others tell the run.

use djinn_core::input::Input;

use super::Driver;
use super::happening::Happening;
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::{Ports, StoreError};

impl<P: Ports> Driver<P> {
    /// What the run is to be told of its mail. The mail is deleted after the next record: then it
    /// is in the journal, or was had already.
    pub(super) fn read_mail(&mut self, mail: Result<Vec<Mail>, StoreError>) -> Vec<Input> {
        let mail = mail.unwrap_or_else(|error| {
            tracing::warn!(%error, "mailbox not read");
            Vec::new()
        });
        self.mail_to_delete.extend(mail.iter().map(Mail::id));
        let partial = self.live.partial();
        mail.into_iter().map(|mail| mail.into_input(partial.clone())).collect()
    }

    /// Deletes what was read: it is recorded now.
    pub(super) fn delete_recorded_mail(&mut self) {
        let ids = std::mem::take(&mut self.mail_to_delete);
        if ids.is_empty() {
            return;
        }
        let (ports, key) = (self.ports.clone(), self.key.clone());
        self.in_flight.beside(async move {
            if let Err(error) = ports.store().delete_mail(&key, &ids).await {
                tracing::warn!(%error, "mail not deleted");
            }
            Happening::Nothing
        });
    }
}
