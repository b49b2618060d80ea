//! `USER#<user>` / `ACTIVE`: a user's active runs, if their number is limited.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_core::id::RunId;
use djinn_runtime::port::{StoreError, UserKey};

use crate::key::{ACTIVE, Attributes, ItemKey, user_partition};

/// The set of active runs, created and changed by updates within transactions. The limit applies to the size
/// of the string set; an empty set has no attribute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ActiveItem {
    pub(crate) runs: BTreeSet<RunId>,
}

impl ActiveItem {
    pub(crate) fn key(user: &UserKey) -> ItemKey {
        ItemKey::new(user_partition(&user.tenant, &user.user), ACTIVE)
    }

    pub(crate) fn from_item(item: &Attributes) -> Result<Self, StoreError> {
        let unreadable = |what: String| StoreError::Unreadable(format!("a user's runs: {what}"));
        let runs = match item.get("runs") {
            None => &[],
            Some(AttributeValue::Ss(runs)) => runs.as_slice(),
            Some(other) => return Err(unreadable(format!("{other:?}"))),
        };
        let runs = runs.iter().map(|run| RunId::new(run.as_str()));
        let runs = runs.collect::<Result<_, _>>().map_err(|error| unreadable(error.to_string()))?;
        Ok(Self { runs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::table::TableItem;
    use proptest::prelude::*;

    fn stored_item(runs: Option<AttributeValue>) -> Attributes {
        let user = UserKey { tenant: sample::tenant(), user: sample::user() };
        let mut item = ActiveItem::key(&user).into_attributes();
        item.extend(runs.map(|runs| ("runs".to_owned(), runs)));
        item
    }

    proptest! {
        #[test]
        fn reads_what_updates_write(runs in prop::collection::btree_set("run_[0-9a-f]{32}", 0..4)) {
            let set = AttributeValue::Ss(runs.iter().cloned().collect());
            let item = stored_item((!runs.is_empty()).then_some(set));
            let runs = runs.into_iter().map(|run| RunId::new(run).unwrap()).collect();
            prop_assert_eq!(TableItem::from_item(item), Ok(Some(TableItem::Active(ActiveItem { runs }))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        for runs in [AttributeValue::S("run_1".into()), AttributeValue::Ss(vec!["run_1".into()])] {
            assert!(ActiveItem::from_item(&stored_item(Some(runs))).is_err());
        }
    }
}
