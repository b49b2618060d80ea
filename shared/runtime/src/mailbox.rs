//! Reading the mailbox of a run: what others tell it.

use djinn_core::file::ProductFile;

use crate::port::file::Files;
use crate::port::mailbox::{Mail, Mailbox};
use crate::port::{RunKey, SessionKey, StoreError};
use crate::world::Ports;

/// Every message that the run can be told now. A file that is announced and has not arrived is left
/// in the mailbox.
pub(crate) async fn read_mailbox<P: Ports>(
    ports: &P,
    key: &RunKey,
    session: &SessionKey,
) -> Result<Vec<Mail>, StoreError> {
    let mut told = ports.store().list_mail(key).await?;
    let announced: Vec<ProductFile> = told.iter().filter_map(announced_file).cloned().collect();
    if !announced.is_empty() {
        let arrived = ports.store().find_arrived(session, &announced).await?;
        told.retain(|mail| announced_file(mail).is_none_or(|file| arrived.contains(file)));
    }
    Ok(told)
}

fn announced_file(mail: &Mail) -> Option<&ProductFile> {
    let Mail::FileAnnounced { file } = mail else { return None };
    Some(file)
}
