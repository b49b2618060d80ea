//! `USER#<user>` / `KEY#<name>#<hash of origin>`: a user's key for tools, sealed by the gateway.

use djinn_core::id::KeyName;
use djinn_runtime::port::sealed_key::SealedKey;
use djinn_runtime::port::{StoreError, UserKey};
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::key::{Attributes, ItemKey, key_sort, user_partition};

/// A sealed key. The table never holds the key itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealedKeyItem {
    pub(crate) name: KeyName,
    pub(crate) origin: String,
    pub(crate) sealed: String,
    pub(crate) set_at_ms: i64,
}

impl std::fmt::Debug for SealedKeyItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the key {} for {}", self.name, self.origin)
    }
}

impl From<SealedKey> for SealedKeyItem {
    fn from(key: SealedKey) -> Self {
        let SealedKey { name, origin, sealed, set_at_ms } = key;
        Self { name, origin, sealed, set_at_ms }
    }
}

impl From<SealedKeyItem> for SealedKey {
    fn from(item: SealedKeyItem) -> Self {
        let SealedKeyItem { name, origin, sealed, set_at_ms } = item;
        Self { name, origin, sealed, set_at_ms }
    }
}

impl SealedKeyItem {
    pub(crate) fn key(user: &UserKey, name: &KeyName, origin: &str) -> ItemKey {
        ItemKey::new(user_partition(&user.tenant, &user.user), key_sort(name, origin))
    }

    pub(crate) fn to_item(&self, user: &UserKey) -> Result<Attributes, StoreError> {
        write_item(Self::key(user, &self.name, &self.origin), self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::table::TableItem;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(
            name in "[A-Za-z0-9_-]{1,64}", origin in "https?://[a-z.]{1,30}", sealed in "[a-z]{0,9}",
            set_at_ms in any::<i64>(),
        ) {
            let name = KeyName::new(name).unwrap();
            let item = SealedKeyItem { name, origin, sealed, set_at_ms };
            let stored = item.to_item(&sample::user_key()).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::SealedKey(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key =
            SealedKeyItem::key(&sample::user_key(), &KeyName::new("K").unwrap(), "https://a.test");
        assert!(SealedKeyItem::from_item(key.into_attributes()).is_err());
    }
}
