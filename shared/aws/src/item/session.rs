//! `SESSION#<hash of owner>#<session>` / `META`: the session's active run.

use djinn_core::id::RunId;
use djinn_runtime::port::{SessionKey, StoreError};
use serde::{Deserialize, Serialize};

use super::read_item;
use crate::key::{Attributes, ItemKey, META, session_partition};

/// A session's state, created and changed by updates within its runs' transactions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionItem {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) active: Option<RunId>,
}

impl SessionItem {
    pub(crate) fn key(session: &SessionKey) -> ItemKey {
        ItemKey::new(session_partition(session), META)
    }

    #[cfg(test)]
    pub(crate) fn to_item(&self, session: &SessionKey) -> Result<Attributes, StoreError> {
        super::write_item(Self::key(session), self)
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
    use aws_sdk_dynamodb::types::AttributeValue;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trips(active in proptest::option::of("run_[0-9a-f]{32}")) {
            let item = SessionItem { active: active.map(|run| RunId::new(run).unwrap()) };
            let stored = item.to_item(&sample::session()).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Session(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        let mut stored = SessionItem::key(&sample::session()).into_attributes();
        stored.insert("active".into(), AttributeValue::S("task_1".into()));
        assert!(SessionItem::from_item(stored).is_err());
    }
}
