//! `USER#<user>` / `REQUEST#<request label>`: the session of a user's newest request with the label.

use djinn_core::id::{RequestId, SessionName};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::UserKey;
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::key::{Attributes, ItemKey, request_sort, user_partition};

/// The session of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestItem {
    /// The user's name of the session.
    pub(crate) session: SessionName,
    pub(crate) expires: i64,
}

impl RequestItem {
    pub(crate) fn key(user: &UserKey, label: &RequestId) -> ItemKey {
        ItemKey::new(user_partition(&user.tenant, &user.user), request_sort(label))
    }

    pub(crate) fn to_item(
        &self,
        user: &UserKey,
        label: &RequestId,
    ) -> Result<Attributes, StoreError> {
        write_item(Self::key(user, label), self)
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
            session in "[a-z:.-]{1,128}|shr_[0-9a-f]{32}", label in "[a-z:.-]{1,128}",
            expires in any::<i64>(),
        ) {
            let item = RequestItem { session: SessionName::new(session).unwrap(), expires };
            let stored = item.to_item(&sample::user_key(), &RequestId::new(label).unwrap()).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Request(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key = RequestItem::key(&sample::user_key(), &RequestId::new("r").unwrap());
        assert!(RequestItem::from_item(key.into_attributes()).is_err());
    }
}
