//! `RUN#<run>` / `IN#<mail id>`: a message to a run.

use djinn_runtime::port::mailbox::Mail;
use djinn_runtime::port::{RunKey, StoreError};
use serde::{Deserialize, Serialize};

use super::{read, write};
use crate::table::{Attributes, Key, MAIL, run_partition};

/// The format of the messages that this code writes.
const FORMAT: u16 = 1;

/// A message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MailItem {
    v: u16,
    /// The message as JSON.
    body: String,
    expires: i64,
}

impl MailItem {
    pub(crate) fn new(mail: &Mail, expires: i64) -> Result<Self, StoreError> {
        let body = serde_json::to_string(mail)
            .map_err(|error| StoreError::Unreadable(format!("mail: {error}")))?;
        Ok(Self { v: FORMAT, body, expires })
    }

    pub(crate) fn key(run: &RunKey, id: &str) -> Key {
        Key::new(run_partition(run), format!("{MAIL}{id}"))
    }

    pub(crate) fn to_item(&self, run: &RunKey, id: &str) -> Result<Attributes, StoreError> {
        write(Self::key(run, id), self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read(item)
    }

    /// The message; `None` if it is newer than this code and has to wait for a newer driver.
    pub(crate) fn mail(&self) -> Result<Option<Mail>, StoreError> {
        if self.v > FORMAT {
            return Ok(None);
        }
        serde_json::from_str(&self.body)
            .map(Some)
            .map_err(|error| StoreError::Unreadable(format!("mail: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::table::Item;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(v in any::<u16>(), body in ".{0,80}", expires in any::<i64>(), id in "[a-z#]{1,9}") {
            let item = MailItem { v, body, expires };
            let stored = item.to_item(&sample::run(), &id).unwrap();
            prop_assert_eq!(Item::from_item(stored), Ok(Some(Item::Mail(item))));
        }
    }

    #[test]
    fn a_newer_message_waits_and_a_garbled_one_is_rejected() {
        let mail = Mail::Stop { by: sample::user() };
        let item = MailItem::new(&mail, 1).unwrap();
        assert_eq!(item.mail(), Ok(Some(mail)));
        assert_eq!(MailItem { v: FORMAT + 1, ..item.clone() }.mail(), Ok(None));
        assert!(MailItem { body: "{\"mail\":\"sing\"}".into(), ..item }.mail().is_err());
        let key = MailItem::key(&sample::run(), "stop#");
        assert_eq!(key.sk, "IN#stop#");
        assert!(MailItem::from_item(key.attributes()).is_err());
    }
}
