//! `RUN#<run>` / `IN#<mail id>`: a message to a run.

use djinn_runtime::port::mailbox::Mail;
use djinn_runtime::port::{RunKey, StoreError};
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::body::{Body, Pointer};
use crate::key::{Attributes, ItemKey, MAIL, run_partition};

/// The formats of inline messages, and of messages in the bucket. Older code reads only the first, and leaves
/// the second to newer code.
const INLINE: u16 = 1;
const SPILLED: u16 = 2;

/// A message to a run, inline or as a pointer to its object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MailItem {
    v: u16,
    /// The message as JSON; empty if stored in the bucket.
    body: String,
    /// The pointer to the message in the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spilled: Option<Pointer>,
    expires: i64,
}

impl MailItem {
    pub(crate) fn new(body: Body, expires: i64) -> Self {
        match body {
            Body::Inline(body) => Self { v: INLINE, body, spilled: None, expires },
            Body::Spilled(pointer) => {
                Self { v: SPILLED, body: String::new(), spilled: Some(pointer), expires }
            }
        }
    }

    pub(crate) fn key(run: &RunKey, id: &str) -> ItemKey {
        ItemKey::new(run_partition(run), format!("{MAIL}{id}"))
    }

    pub(crate) fn to_item(&self, run: &RunKey, id: &str) -> Result<Attributes, StoreError> {
        write_item(Self::key(run, id), self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }

    /// Returns the message's body, inline or in the bucket. `None` means a format newer than this code; the
    /// message stays for a newer driver.
    pub(crate) fn into_body(self) -> Option<Body> {
        (self.v <= SPILLED).then(|| self.spilled.map_or(Body::Inline(self.body), Body::Spilled))
    }
}

/// Serializes a message for storage.
pub(crate) fn mail_to_json(mail: &Mail) -> Result<String, StoreError> {
    serde_json::to_string(mail).map_err(|error| unreadable_mail(&error))
}

/// Parses a stored message.
pub(crate) fn mail_from_json(json: &str) -> Result<Mail, StoreError> {
    serde_json::from_str(json).map_err(|error| unreadable_mail(&error))
}

fn unreadable_mail(error: &serde_json::Error) -> StoreError {
    StoreError::Unreadable(format!("mail: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::tests::any_body;
    use crate::item::sample;
    use crate::table::TableItem;
    use aws_sdk_dynamodb::types::AttributeValue;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(body in any_body(), expires in any::<i64>(), id in "[a-z#]{1,9}") {
            let item = MailItem::new(body.clone(), expires);
            let stored = item.to_item(&sample::run(), &id).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Mail(item.clone()))));
            prop_assert_eq!(item.into_body(), Some(body));
        }
    }

    #[test]
    fn what_older_code_wrote_is_read() {
        let json = mail_to_json(&Mail::Stop { by: sample::user() }).unwrap();
        let mut item = MailItem::key(&sample::run(), "stop#").into_attributes();
        item.insert("v".to_owned(), AttributeValue::N("1".to_owned()));
        item.insert("body".to_owned(), AttributeValue::S(json.clone()));
        item.insert("expires".to_owned(), AttributeValue::N("9".to_owned()));
        let read = MailItem::from_item(item).unwrap();
        assert_eq!(read, MailItem::new(Body::Inline(json), 9));
    }

    #[test]
    fn a_newer_message_waits_and_a_garbled_one_is_rejected() {
        let mail = Mail::Stop { by: sample::user() };
        let json = mail_to_json(&mail).unwrap();
        assert_eq!(mail_from_json(&json), Ok(mail));
        assert!(mail_from_json("{\"mail\":\"sing\"}").is_err());
        let item = MailItem::new(Body::Inline(json), 1);
        assert_eq!(MailItem { v: SPILLED + 1, ..item }.into_body(), None);
        let key = MailItem::key(&sample::run(), "stop#");
        assert_eq!(key.sk, "IN#stop#");
        assert!(MailItem::from_item(key.into_attributes()).is_err());
    }
}
