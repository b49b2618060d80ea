//! `TOOL#<hash of user>#<tool>` / `CALLS`: samples of a tool's newest calls.

use djinn_runtime::port::StoreError;
use djinn_runtime::port::call_history::CallSample;
use djinn_runtime::port::call_history::ToolKey;
use serde::{Deserialize, Serialize};

use super::read_item;
use crate::key::{Attributes, CALLS, ItemKey, tool_partition};

/// A tool's newest calls. The item is only created and changed by updates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallsItem {
    pub(crate) samples: Vec<CallSample>,
    /// The number of the last update.
    pub(crate) update: u64,
    pub(crate) expires: i64,
}

impl CallsItem {
    pub(crate) fn key(tool: &ToolKey) -> ItemKey {
        ItemKey::new(tool_partition(tool), CALLS)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{sample, write_item};
    use crate::table::TableItem;
    use proptest::prelude::*;

    fn key() -> ItemKey {
        CallsItem::key(&ToolKey { user: sample::user_key(), tool: "file_tool".to_owned() })
    }

    proptest! {
        #[test]
        fn round_trips(samples in proptest::collection::vec(any::<(u64, u64)>(), 0..5), (update, expires) in any::<(u64, i64)>()) {
            let samples = samples.into_iter().map(|(ms, tokens)| CallSample { ms, tokens }).collect();
            let item = CallsItem { samples, update, expires };
            let stored = write_item(key(), &item).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Calls(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        assert!(CallsItem::from_item(key().into_attributes()).is_err());
    }
}
