//! `USER#<user>` / `STREAMS` and `SESSION#<hash of owner>#<session>` / `UPLOADS`: sets of limited permits. A
//! user's streams take permits if their number is limited. A session's announced uploads take permits until
//! the upload.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_runtime::port::{SessionKey, StoreError, UserKey};

use crate::key::{Attributes, ItemKey, STREAMS, UPLOADS, session_partition, user_partition};

/// The permits taken. Each name has the latest end (Unix seconds, 10 digits) and a unique word. The limit
/// applies to the size of the string set, changed by updates; an empty set has no attribute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PermitsItem {
    pub(crate) permits: BTreeSet<String>,
}

/// Returns the key of a user's streams.
pub(crate) fn streams_key(user: &UserKey) -> ItemKey {
    ItemKey::new(user_partition(&user.tenant, &user.user), STREAMS)
}

/// Returns the key of a session's uploads.
pub(crate) fn uploads_key(session: &SessionKey) -> ItemKey {
    ItemKey::new(session_partition(session), UPLOADS)
}

/// Returns the name of a permit with its latest end, Unix seconds; the word makes the name unique.
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

    /// Returns the permits expired at the given Unix second; their holders have disappeared.
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
