//! `USER#<user>` / `MINUTE#<minute>`: how many runs a user started in a minute.

use djinn_runtime::port::{StoreError, UserKey};
use serde::{Deserialize, Serialize};

use super::read_item;
use crate::key::{Attributes, ItemKey, MINUTE, user_partition};

/// A counter of a minute's runs, created and changed by updates within the runs' transactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MinuteItem {
    pub(crate) runs: u32,
    pub(crate) expires: i64,
}

impl MinuteItem {
    /// Returns the item's key; `minute` counts from the beginning of 1970.
    pub(crate) fn key(user: &UserKey, minute: i64) -> ItemKey {
        ItemKey::new(user_partition(&user.tenant, &user.user), format!("{MINUTE}#{minute}"))
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{sample, write_item};
    use crate::table::TableItem;
    use proptest::prelude::*;

    fn key() -> ItemKey {
        let user = UserKey { tenant: sample::tenant(), user: sample::user() };
        MinuteItem::key(&user, 29_920_320)
    }

    proptest! {
        #[test]
        fn round_trips(runs in any::<u32>(), expires in any::<i64>()) {
            let item = MinuteItem { runs, expires };
            let stored = write_item(key(), &item).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Minute(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        assert!(MinuteItem::from_item(key().into_attributes()).is_err());
    }
}
