//! `SESSION#<hash of owner>#<session>` / `EXPECTED#<name>`: a file announced for upload.
//!
//! A separate item, so that an existing file of the same name is unchanged until the upload is complete.

use djinn_core::id::{FileName, UserId};
use djinn_runtime::port::{SessionKey, StoreError};
use serde::{Deserialize, Serialize};

use super::file::FileItem;
use super::permits::permit_name;
use super::{read_item, write_item};
use crate::change::{PutCondition, number, text, values};
use crate::key::{Attributes, ItemKey, expected_sort, session_partition};

/// Digits of an object's name that distinguish announcements within the same second.
const PERMIT_DIGITS: usize = 16;

/// The future file of an announcement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExpectedFileItem {
    /// The future `FileItem`; `written_at_ms` is the time of the announcement.
    pub(crate) file: FileItem,
    /// The end of the wait for the upload, Unix seconds.
    pub(crate) expires: i64,
}

impl ExpectedFileItem {
    pub(crate) fn key(session: &SessionKey, name: &FileName) -> ItemKey {
        ItemKey::new(session_partition(session), expected_sort(name))
    }

    /// Returns the name of the announcement's permit. Repeated announcements of a name have separate permits.
    pub(crate) fn permit_name(&self) -> String {
        let object = &self.file.object;
        let word = object.get(object.len().saturating_sub(PERMIT_DIGITS)..).unwrap_or_default();
        permit_name(self.expires, word)
    }

    /// Returns the condition for announcing a file of this name by a guest, or by the session's owner for
    /// `None`.
    pub(crate) fn replace_condition(guest: Option<&UserId>, now_s: i64) -> PutCondition {
        let now = (":now", number(&now_s));
        match guest {
            Some(guest) => PutCondition {
                expression: "attribute_not_exists(#file) OR #file.#guest = :guest OR #expires <= :now",
                values: values([now, (":guest", text(guest))]),
            },
            None => PutCondition {
                expression: "attribute_not_exists(#file.#guest) OR #expires <= :now",
                values: values([now]),
            },
        }
    }

    pub(crate) fn to_item(&self, session: &SessionKey) -> Result<Attributes, StoreError> {
        write_item(Self::key(session, &self.file.name), self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::file::tests::any_file;
    use crate::item::sample;
    use crate::key::{FILE, META};
    use crate::table::TableItem;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(file in any_file(), expires in any::<i64>()) {
            let item = ExpectedFileItem { file, expires };
            let stored = item.to_item(&sample::session()).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::ExpectedFile(item))));
        }
    }

    #[test]
    fn sorts_before_meta_as_files_do_so_that_one_query_reads_both() {
        let key = ExpectedFileItem::key(&sample::session(), &FileName::new("界").unwrap());
        assert!(key.sk.as_str() < META && FILE < META);
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key = ExpectedFileItem::key(&sample::session(), &FileName::new("a").unwrap());
        assert!(ExpectedFileItem::from_item(key.into_attributes()).is_err());
    }
}
