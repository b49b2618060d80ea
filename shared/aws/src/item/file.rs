//! `SESSION#<hash of owner>#<session>` / `FILE#<name>`: a product file.

use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, UserId};
use djinn_runtime::port::{SessionKey, StoreError};
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::change::{PutCondition, number, text, values};
use crate::key::{Attributes, ItemKey, file_sort, session_partition};

/// A file's newest content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileItem {
    pub(crate) name: FileName,
    pub(crate) description: String,
    pub(crate) size: u64,
    pub(crate) internal: bool,
    pub(crate) media_type: String,
    /// The name of the file's object, within the session's objects.
    pub(crate) object: String,
    /// For a CSV file, true if rows follow the header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) has_rows: Option<bool>,
    /// True if a user uploaded the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) uploaded: bool,
    /// The guest who wrote the file; `None` for the session's owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) guest: Option<UserId>,
    /// The time of the write, Unix milliseconds; defines the order of a session's files.
    pub(crate) written_at_ms: i64,
    /// The file's expiry, Unix seconds; earlier than the expiry of its bytes.
    pub(crate) expires: i64,
}

impl FileItem {
    pub(crate) fn key(session: &SessionKey, name: &FileName) -> ItemKey {
        ItemKey::new(session_partition(session), file_sort(name))
    }

    pub(crate) fn to_item(&self, session: &SessionKey) -> Result<Attributes, StoreError> {
        write_item(Self::key(session, &self.name), self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }

    /// Returns true if a guest, or the session's owner for `None`, may replace this file.
    pub(crate) fn is_replaceable_by(&self, guest: Option<&UserId>, now_s: i64) -> bool {
        self.guest.as_ref() == guest || self.expires <= now_s
    }

    /// Returns the rule of `is_replaceable_by` as a condition of a put.
    pub(crate) fn replace_condition(guest: Option<&UserId>, now_s: i64) -> PutCondition {
        let now = (":now", number(&now_s));
        match guest {
            Some(guest) => PutCondition {
                expression: "attribute_not_exists(#name) OR #guest = :guest OR #expires <= :now",
                values: values([now, (":guest", text(guest))]),
            },
            None => PutCondition {
                expression: "attribute_not_exists(#guest) OR #expires <= :now",
                values: values([now]),
            },
        }
    }

    /// Returns the file for the journal and for clients.
    pub(crate) fn into_file(self) -> ProductFile {
        ProductFile {
            name: self.name,
            description: self.description,
            size: self.size,
            internal: self.internal,
            media_type: self.media_type,
            object: self.object,
            has_rows: self.has_rows,
            uploaded: self.uploaded,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::item::sample;
    use crate::table::TableItem;
    use proptest::prelude::*;

    /// Returns a strategy for files of any size and time, with names valid for [`FileName`].
    pub(crate) fn any_file() -> impl Strategy<Value = FileItem> {
        ("[a-z界 ()#]{1,20}", ".{0,40}", any::<u64>(), any::<bool>(), any::<(i64, i64)>())
            .prop_filter("file name", |(name, ..)| FileName::new(name.as_str()).is_ok())
            .prop_map(|(name, description, size, internal, times)| FileItem {
                name: FileName::new(name).unwrap(),
                description,
                size,
                internal,
                media_type: "text/plain".into(),
                object: "files/x".into(),
                has_rows: times.0.checked_rem(3).and_then(|rest| (rest != 0).then_some(rest > 0)),
                uploaded: times.1 % 2 == 0,
                guest: (times.0 % 2 == 0).then(|| UserId::new("bob").unwrap()),
                written_at_ms: times.0,
                expires: times.1,
            })
    }

    proptest! {
        #[test]
        fn round_trips(file in any_file()) {
            let stored = file.to_item(&sample::session()).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::File(file))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key = FileItem::key(&sample::session(), &FileName::new("金价 报告.html").unwrap());
        assert_eq!(key.sk, "FILE#金价 报告.html");
        assert!(FileItem::from_item(key.into_attributes()).is_err());
    }
}
