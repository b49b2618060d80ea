//! `USER#<user>` / `SESSION#<session>`: an entry of a user's sessions.

use djinn_core::id::{SessionId, TenantId, UserId};
use djinn_runtime::port::StoreError;
use serde::{Deserialize, Serialize};

use super::read_item;
use crate::key::{Attributes, ItemKey, user_partition, user_session_sort};

/// A session in the user's list, created and changed by an update at the start of each run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct UserSessionItem {
    pub(crate) session: SessionId,
    /// The start of the session's first question.
    pub(crate) title: String,
    /// The start of the session's newest question.
    #[serde(default)]
    pub(crate) newest_question: String,
    pub(crate) started_at_ms: i64,
    /// The start of the newest run, Unix milliseconds.
    pub(crate) newest_at_ms: i64,
    pub(crate) expires: i64,
}

impl UserSessionItem {
    pub(crate) fn key(tenant: &TenantId, user: &UserId, session: &SessionId) -> ItemKey {
        ItemKey::new(user_partition(tenant, user), user_session_sort(session))
    }

    #[cfg(test)]
    pub(crate) fn to_item(
        &self,
        tenant: &TenantId,
        user: &UserId,
    ) -> Result<Attributes, StoreError> {
        super::write_item(Self::key(tenant, user, &self.session), self)
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
        fn round_trips(title in ".{0,80}", newest in ".{0,80}", times in any::<(i64, i64, i64)>()) {
            let item = UserSessionItem {
                session: sample::session().session,
                title,
                newest_question: newest,
                started_at_ms: times.0,
                newest_at_ms: times.1,
                expires: times.2,
            };
            let stored = item.to_item(&sample::tenant(), &sample::user()).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::UserSession(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key =
            UserSessionItem::key(&sample::tenant(), &sample::user(), &sample::session().session);
        assert!(UserSessionItem::from_item(key.into_attributes()).is_err());
    }
}
