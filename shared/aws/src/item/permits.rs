//! `USER#<user>` / `STREAMS` and `SESSION#<hash of owner>#<session>` / `UPLOADS`: permits of which there are
//! so many, taken by the responses that are streamed to a user, where their number has a bound, and by
//! the files of a session that were announced and have not been uploaded.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_runtime::port::{SessionKey, StoreError, UserKey};

use crate::key::{Attributes, ItemKey, STREAMS, UPLOADS, session_partition, user_partition};

/// Permits that are taken, each named by when it is over at the latest (Unix seconds, 10 digits) and a word of
/// its own. Changed by updates; a set of strings, whose size is what the bound is about, and which is not
/// there when it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PermitsItem {
    pub(crate) permits: BTreeSet<String>,
}

/// Where a user's streams are.
pub(crate) fn streams_key(user: &UserKey) -> ItemKey {
    ItemKey::new(user_partition(&user.tenant, &user.user), STREAMS)
}

/// Where a session's uploads are.
pub(crate) fn uploads_key(session: &SessionKey) -> ItemKey {
    ItemKey::new(session_partition(session), UPLOADS)
}

/// The name of a permit that is over then, Unix seconds, at the latest; the word tells it from all others.
pub(crate) fn permit_name(until_s: i64, word: &str) -> String {
    format!("{:010}.{word}", until_s.max(0))
}

impl PermitsItem {
    pub(crate) fn from_item(item: &Attributes) -> Result<Self, StoreError> {
        match item.get("permits") {
            None => Ok(Self::default()),
            Some(AttributeValue::Ss(permits)) => {
                Ok(Self { permits: permits.iter().cloned().collect() })
            }
            Some(other) => Err(StoreError::Unreadable(format!("permits: {other:?}"))),
        }
    }

    /// The permits that were not given back in time, at this moment, Unix seconds: whoever had them is gone.
    pub(crate) fn expired_permits(&self, now_s: i64) -> Vec<String> {
        let ends_s = |permit: &str| permit.split_once('.')?.0.parse::<i64>().ok();
        let is_over = |permit: &&String| ends_s(permit).is_none_or(|ends_s| ends_s <= now_s);
        self.permits.iter().filter(is_over).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::table::TableItem;

    fn stored_item(key: ItemKey, permits: Option<AttributeValue>) -> Attributes {
        let mut item = key.into_attributes();
        item.extend(permits.map(|permits| ("permits".to_owned(), permits)));
        item
    }

    #[test]
    fn reads_what_updates_write_and_tells_who_is_gone() {
        let permits =
            [(99, "a"), (100, "b"), (101, "c")].map(|(until_s, word)| permit_name(until_s, word));
        let set = AttributeValue::Ss(permits.to_vec());
        let read = PermitsItem { permits: BTreeSet::from(permits) };
        assert_eq!(read.expired_permits(100), ["0000000099.a", "0000000100.b"]);
        let (streams, uploads) =
            (streams_key(&sample::user_key()), uploads_key(&sample::session()));
        let item = stored_item(streams.clone(), Some(set.clone()));
        assert_eq!(TableItem::from_item(item), Ok(Some(TableItem::Streams(read.clone()))));
        let item = stored_item(uploads, Some(set));
        assert_eq!(TableItem::from_item(item), Ok(Some(TableItem::Uploads(read))));
        let none = stored_item(streams.clone(), None);
        assert_eq!(PermitsItem::from_item(&none), Ok(PermitsItem::default()));
        let garbled = AttributeValue::S("0000000099.a".into());
        assert!(PermitsItem::from_item(&stored_item(streams, Some(garbled))).is_err());
    }
}
