//! Reads the mailbox of a run.

use djinn_core::file::ProductFile;

use crate::port::file::Files;
use crate::port::mailbox::{Mail, Mailbox, MailboxContents};
use crate::port::{RunKey, SessionKey, StoreError};
use crate::world::Ports;

/// Returns the mail that the run can process now, and the time until which a viewer watches. An announced
/// file that has not arrived stays in the mailbox.
pub(crate) async fn read_mailbox<P: Ports>(
    ports: &P,
    key: &RunKey,
    session: &SessionKey,
) -> Result<MailboxContents, StoreError> {
    let mut contents = ports.store().read_mailbox(key).await?;
    let references = contents.mail.iter().filter_map(announced_file);
    let files: Vec<ProductFile> = references.cloned().collect();
    if !files.is_empty() {
        let arrivals = ports.store().find_arrived(session, &files).await?;
        let mail = &mut contents.mail;
        mail.retain(|mail| announced_file(mail).is_none_or(|file| arrivals.contains(file)));
    }
    Ok(contents)
}

fn announced_file(mail: &Mail) -> Option<&ProductFile> {
    let Mail::FileAnnounced { file } = mail else { return None };
    Some(file)
}
