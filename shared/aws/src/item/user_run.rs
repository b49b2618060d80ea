//! `USER#<user>` / `RUN#<started>#<run>`: an entry of a user's runs.

use djinn_core::id::{RequestId, RunId, SessionName, TenantId, UserId};
use djinn_core::status::RunStatus;
use djinn_runtime::port::StoreError;
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::key::{Attributes, ItemKey, run_sort, user_partition};

/// A run in the user's list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct UserRunItem {
    pub(crate) run: RunId,
    /// The user's name of the session.
    pub(crate) session: SessionName,
    pub(crate) request: RequestId,
    /// The start of the question.
    pub(crate) title: String,
    /// The status at the start, updated at the end; the run's META has the status between.
    pub(crate) status: RunStatus,
    pub(crate) started_at_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at_ms: Option<i64>,
    pub(crate) expires: i64,
}

impl UserRunItem {
    pub(crate) fn key(
        tenant: &TenantId,
        user: &UserId,
        started_at_ms: i64,
        run: &RunId,
    ) -> ItemKey {
        ItemKey::new(user_partition(tenant, user), run_sort(started_at_ms, run))
    }

    pub(crate) fn to_item(
        &self,
        tenant: &TenantId,
        user: &UserId,
    ) -> Result<Attributes, StoreError> {
        write_item(Self::key(tenant, user, self.started_at_ms, &self.run), self)
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
            title in ".{0,80}", started_at_ms in 0i64..1 << 42,
            ended_at_ms in proptest::option::of(any::<i64>()), expires in any::<i64>(),
        ) {
            let item = UserRunItem {
                run: sample::run_id(),
                session: sample::session().session.into(),
                request: RequestId::new("r").unwrap(),
                title,
                status: RunStatus::Queued,
                started_at_ms,
                ended_at_ms,
                expires,
            };
            let stored = item.to_item(&sample::tenant(), &sample::user()).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::UserRun(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key = UserRunItem::key(&sample::tenant(), &sample::user(), 1, &sample::run_id());
        assert!(UserRunItem::from_item(key.into_attributes()).is_err());
    }
}
