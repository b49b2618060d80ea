//! `SHARE#<handle>` / `META`, `SESSION#<hash of owner>#<session>` / `SHARE#<handle>`, and `USER#<guest>` /
//! `SHARE#<created>#<handle>`: a share.

use djinn_core::id::{SessionId, ShareHandle, TenantId, UserId};
use djinn_runtime::port::share::{Audience, SessionShare};
use djinn_runtime::port::{SessionKey, StoreError};
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::key::{
    Attributes, ItemKey, META, guest_share_sort, session_partition, share_partition, share_sort,
    user_partition,
};

/// A share, stored under each key by which it is found: its handle, its session, and its guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShareItem {
    pub(crate) handle: ShareHandle,
    pub(crate) owner: UserId,
    pub(crate) session: SessionId,
    pub(crate) session_started_at_ms: i64,
    pub(crate) audience: Audience,
    pub(crate) can_write: bool,
    pub(crate) created_at_ms: i64,
    /// The share's expiry, Unix seconds.
    pub(crate) expires: i64,
}

impl ShareItem {
    pub(crate) fn key(tenant: &TenantId, handle: &ShareHandle) -> ItemKey {
        ItemKey::new(share_partition(tenant, handle), META)
    }

    pub(crate) fn key_in_session(session: &SessionKey, handle: &ShareHandle) -> ItemKey {
        ItemKey::new(session_partition(session), share_sort(handle))
    }

    /// Returns the key in the guest's list; `None` for a share with a whole tenant.
    pub(crate) fn key_of_guest(&self, tenant: &TenantId) -> Option<ItemKey> {
        let Audience::User(guest) = &self.audience else { return None };
        let sort = guest_share_sort(self.created_at_ms, &self.handle);
        Some(ItemKey::new(user_partition(tenant, guest), sort))
    }

    pub(crate) fn of(share: &SessionShare, expires: i64) -> Self {
        Self {
            handle: share.handle.clone(),
            owner: share.session.owner.clone(),
            session: share.session.session.clone(),
            session_started_at_ms: share.session_started_at_ms,
            audience: share.audience.clone(),
            can_write: share.can_write,
            created_at_ms: share.created_at_ms,
            expires,
        }
    }

    pub(crate) fn to_item(&self, key: ItemKey) -> Result<Attributes, StoreError> {
        write_item(key, self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }

    /// Returns the share for the runtime.
    pub(crate) fn into_share(self, tenant: &TenantId) -> SessionShare {
        let tenant = tenant.clone();
        let owner = self.owner;
        SessionShare {
            handle: self.handle,
            session: SessionKey { tenant, owner, session: self.session },
            session_started_at_ms: self.session_started_at_ms,
            audience: self.audience,
            can_write: self.can_write,
            created_at_ms: self.created_at_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::key::RUN;
    use crate::table::TableItem;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips_in_each_of_its_places(
            can_write in any::<bool>(), to_all in any::<bool>(), times in any::<(i64, i64, i64)>(),
        ) {
            let handle = sample::shared_session().handle;
            let item = ShareItem {
                handle: handle.clone(),
                owner: sample::user(),
                session: sample::session().session,
                session_started_at_ms: times.0,
                audience: if to_all { Audience::Tenant } else { Audience::User(sample::user()) },
                can_write,
                created_at_ms: times.1,
                expires: times.2,
            };
            let guest = item.key_of_guest(&sample::tenant());
            prop_assert_eq!(guest.is_none(), to_all);
            let keys = [
                ShareItem::key(&sample::tenant(), &handle),
                ShareItem::key_in_session(&sample::session(), &handle),
            ];
            for key in keys.into_iter().chain(guest) {
                let stored = item.to_item(key).unwrap();
                prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Share(item.clone()))));
            }
        }
    }

    #[test]
    fn sorts_behind_what_the_session_is_read_with() {
        let key = ShareItem::key_in_session(&sample::session(), &sample::shared_session().handle);
        assert!(key.sk.as_str() > META && key.sk.as_str() > RUN);
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key = ShareItem::key(&sample::tenant(), &sample::shared_session().handle);
        assert_eq!(key.pk, format!("t#SHARE#shr_{}", "1".repeat(32)));
        assert!(ShareItem::from_item(key.into_attributes()).is_err());
    }
}
