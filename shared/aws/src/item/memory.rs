//! `SESSION#<hash of owner>#<session>` / `MEMORY`: the summary of a session's oldest exchanges.

use djinn_core::id::RunId;
use djinn_runtime::port::{SessionKey, StoreError};
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::body::Body;
use crate::key::{Attributes, ItemKey, MEMORY, run_sort, session_partition};

/// The session summary for the next run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct MemoryItem {
    /// The summary as JSON.
    pub(crate) body: Body,
    /// The run with the compaction.
    pub(crate) run: RunId,
    pub(crate) started_at_ms: i64,
    /// The number of exchanges after the summary and before its run.
    pub(crate) newer_exchanges: u32,
    pub(crate) expires: i64,
}

impl MemoryItem {
    pub(crate) fn key(session: &SessionKey) -> ItemKey {
        ItemKey::new(session_partition(session), MEMORY)
    }

    /// Returns the sort key of the exchange of the summary's run.
    pub(crate) fn maker_sort(&self) -> String {
        run_sort(self.started_at_ms, &self.run)
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
            body in any_body(), newer_exchanges in any::<u32>(), expires in any::<i64>(),
            started_at_ms in 0i64..1 << 42,
        ) {
            let run = sample::run_id();
            let item = MemoryItem { body, run, started_at_ms, newer_exchanges, expires };
            let stored = item.to_item(MemoryItem::key(&sample::session())).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Memory(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key = MemoryItem::key(&sample::session());
        assert!(MemoryItem::from_item(key.into_attributes()).is_err());
    }
}
