//! `SHARE#<handle>` / `META`, and `SESSION#<hash of owner>#<session>` / `SHARE#<handle>`: a share.

use djinn_core::id::{SessionId, ShareHandle, TenantId, UserId};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::journal::SessionKey;
use djinn_runtime::port::share::{Audience, Share};
use serde::{Deserialize, Serialize};

use super::{read, write};
use crate::table::{Attributes, Key, META, session_partition, share_partition, share_sort};

/// A share, the same in both of its places: one leads from the handle to the session, the other from
/// the session to its handles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShareItem {
    pub(crate) handle: ShareHandle,
    pub(crate) owner: UserId,
    pub(crate) session: SessionId,
    pub(crate) session_started_at_ms: i64,
    pub(crate) with: Audience,
    pub(crate) write: bool,
    pub(crate) created_at_ms: i64,
    /// When it is a share no more, Unix seconds.
    pub(crate) expires: i64,
}

impl ShareItem {
    pub(crate) fn key(tenant: &TenantId, handle: &ShareHandle) -> Key {
        Key::new(share_partition(tenant, handle), META)
    }

    pub(crate) fn key_in(session: &SessionKey, handle: &ShareHandle) -> Key {
        Key::new(session_partition(session), share_sort(handle))
    }

    pub(crate) fn of(share: &Share, expires: i64) -> Self {
        Self {
            handle: share.handle.clone(),
            owner: share.session.owner.clone(),
            session: share.session.session.clone(),
            session_started_at_ms: share.session_started_at_ms,
            with: share.with.clone(),
            write: share.write,
            created_at_ms: share.created_at_ms,
            expires,
        }
    }

    pub(crate) fn to_item(&self, key: Key) -> Result<Attributes, StoreError> {
        write(key, self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read(item)
    }

    /// The share as the runtime knows it.
    pub(crate) fn into_share(self, tenant: &TenantId) -> Share {
        let (tenant, owner) = (tenant.clone(), self.owner);
        Share {
            handle: self.handle,
            session: SessionKey { tenant, owner, session: self.session },
            session_started_at_ms: self.session_started_at_ms,
            with: self.with,
            write: self.write,
            created_at_ms: self.created_at_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::table::{Item, RUN};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips_in_both_of_its_places(
            write in any::<bool>(), to_all in any::<bool>(), times in any::<(i64, i64, i64)>(),
        ) {
            let handle = sample::shared().handle;
            let item = ShareItem {
                handle: handle.clone(),
                owner: sample::user(),
                session: sample::session().session,
                session_started_at_ms: times.0,
                with: if to_all { Audience::Tenant } else { Audience::User(sample::user()) },
                write,
                created_at_ms: times.1,
                expires: times.2,
            };
            for key in [
                ShareItem::key(&sample::tenant(), &handle),
                ShareItem::key_in(&sample::session(), &handle),
            ] {
                let stored = item.to_item(key).unwrap();
                prop_assert_eq!(Item::from_item(stored), Ok(Some(Item::Share(item.clone()))));
            }
        }
    }

    #[test]
    fn sorts_behind_what_the_session_is_read_with() {
        let key = ShareItem::key_in(&sample::session(), &sample::shared().handle);
        assert!(key.sk.as_str() > META && key.sk.as_str() > RUN);
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key = ShareItem::key(&sample::tenant(), &sample::shared().handle);
        assert_eq!(key.pk, format!("t#SHARE#shr_{}", "1".repeat(32)));
        assert!(ShareItem::from_item(key.attributes()).is_err());
    }
}
