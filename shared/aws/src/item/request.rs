//! `REQUEST#<request label>` / `SESSION`: which session a client's request label belongs to.

use djinn_core::id::{RequestId, SessionId, TenantId};
use djinn_runtime::port::StoreError;
use serde::{Deserialize, Serialize};

use super::{read, write};
use crate::table::{Attributes, Key, SESSION, request_partition};

/// The session of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestItem {
    pub(crate) session: SessionId,
    pub(crate) expires: i64,
}

impl RequestItem {
    pub(crate) fn key(tenant: &TenantId, label: &RequestId) -> Key {
        Key::new(request_partition(tenant, label), SESSION)
    }

    pub(crate) fn to_item(
        &self,
        tenant: &TenantId,
        label: &RequestId,
    ) -> Result<Attributes, StoreError> {
        write(Self::key(tenant, label), self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read(item)
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
        fn round_trips(session in "[a-z:.-]{1,128}", label in "[a-z:.-]{1,128}", expires in any::<i64>()) {
            let item = RequestItem { session: SessionId::new(session).unwrap(), expires };
            let stored = item.to_item(&sample::tenant(), &RequestId::new(label).unwrap()).unwrap();
            prop_assert_eq!(Item::from_item(stored), Ok(Some(Item::Request(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key = RequestItem::key(&sample::tenant(), &RequestId::new("r").unwrap());
        assert!(RequestItem::from_item(key.attributes()).is_err());
    }
}
