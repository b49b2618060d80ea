//! `SESSION#<hash of owner>#<session>` / `RUN#<started>#<run>`: an ended run, with question and answer.

use djinn_core::id::{RequestId, RunId, UserId};
use djinn_core::status::RunStatus;
use djinn_runtime::port::{SessionKey, StoreError};
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::body::Body;
use crate::key::{Attributes, ItemKey, run_sort, session_partition};

/// The view of an ended run for later runs of the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExchangeItem {
    /// The exchange as JSON; `None` for a run with an unreadable journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<Body>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<RunStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<RequestId>,
    /// The user with the run's question; `None` if the item has no user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<UserId>,
    pub(crate) expires: i64,
}

impl ExchangeItem {
    pub(crate) fn key(session: &SessionKey, started_at_ms: i64, run: &RunId) -> ItemKey {
        ItemKey::new(session_partition(session), run_sort(started_at_ms, run))
    }

    pub(crate) fn to_item(&self, key: ItemKey) -> Result<Attributes, StoreError> {
        write_item(key, self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::tests::any_body;
    use crate::item::sample;
    use crate::table::TableItem;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(
            body in proptest::option::of(any_body()), known in any::<bool>(),
            expires in any::<i64>(), started in 0i64..1 << 42,
        ) {
            let item = ExchangeItem {
                body,
                status: known.then_some(RunStatus::Stopped),
                request: known.then(|| RequestId::new("r").unwrap()),
                user: known.then(sample::user),
                expires,
            };
            let key = ExchangeItem::key(&sample::session(), started, &sample::run_id());
            let stored = item.to_item(key).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Exchange(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key = ExchangeItem::key(&sample::session(), 12, &sample::run_id());
        assert!(key.sk.starts_with("RUN#0000000000012#run_"));
        assert!(ExchangeItem::from_item(key.into_attributes()).is_err());
    }
}
