//! `USER#<user>` / `DAY#<day>`: the use of model calls by a user in a day.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::budget::{Amount, DayKey, Hold, Payer};

use crate::key::{Attributes, DAY, ItemKey, PARTITION, user_partition};

/// The attribute prefix of a hold, followed by the payer. Each hold has a separate attribute, so a day's
/// first hold needs no existing map.
const HOLD: &str = "hold_";

/// A day's use. The item is only created and changed by updates.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DayItem {
    /// Spent and held amounts: `used_tokens` and `used_micro_usd`.
    pub(crate) used: Amount,
    /// The holds by payer: `<call> <tokens> <millionths of a dollar> <Unix seconds>`.
    pub(crate) holds: BTreeMap<String, Hold>,
}

impl DayItem {
    pub(crate) fn key(day: &DayKey) -> ItemKey {
        let partition = user_partition(&day.user.tenant, &day.user.user);
        ItemKey::new(partition, format!("{DAY}#{}", day.day))
    }

    /// Returns the attribute name of a payer's hold.
    pub(crate) fn hold_name(payer: impl std::fmt::Display) -> String {
        format!("{HOLD}{payer}")
    }

    #[cfg(test)]
    pub(crate) fn to_item(&self, day: &DayKey) -> Attributes {
        let mut item = Self::key(day).into_attributes();
        for (name, sum) in
            [("used_tokens", self.used.tokens), ("used_micro_usd", self.used.micro_usd)]
        {
            item.insert(name.to_owned(), AttributeValue::N(sum.to_string()));
        }
        for (payer, hold) in &self.holds {
            item.insert(Self::hold_name(payer), AttributeValue::S(format_hold(hold)));
        }
        item
    }

    pub(crate) fn from_item(item: &Attributes) -> Result<Self, StoreError> {
        let sum = |name: &str| match item.get(name) {
            // A settled amount may slightly exceed the hold.
            Some(AttributeValue::N(sum)) => sum
                .parse::<i64>()
                .map(|sum| u64::try_from(sum).unwrap_or_default())
                .map_err(|_| unreadable_attribute(item, name)),
            Some(_) => Err(unreadable_attribute(item, name)),
            None => Ok(0),
        };
        let used = Amount { tokens: sum("used_tokens")?, micro_usd: sum("used_micro_usd")? };
        let mut holds = BTreeMap::new();
        for (name, value) in item {
            if let Some(payer) = name.strip_prefix(HOLD) {
                let hold = value.as_s().ok().and_then(|text| parse_hold(text));
                let hold = hold.ok_or_else(|| unreadable_attribute(item, name))?;
                holds.insert(payer.to_owned(), hold);
            }
        }
        Ok(Self { used, holds })
    }

    /// Returns the sum of all holds.
    pub(crate) fn total_held(&self) -> Amount {
        self.holds.values().fold(Amount::default(), |sum, hold| sum.saturating_add(hold.amount))
    }

    /// Returns a payer's hold.
    pub(crate) fn hold_of(&self, payer: &Payer) -> Option<&Hold> {
        self.holds.get(payer.as_str())
    }
}

/// Formats a hold for storage.
pub(crate) fn format_hold(hold: &Hold) -> String {
    let Hold { call, amount, reserved_at_s: at_s } = hold;
    format!("{call} {} {} {at_s}", amount.tokens, amount.micro_usd)
}

fn parse_hold(text: &str) -> Option<Hold> {
    let mut words = text.splitn(4, ' ');
    let call = words.next()?.to_owned();
    let tokens = words.next()?.parse().ok()?;
    let micro_usd = words.next()?.parse().ok()?;
    let at_s = words.next()?.parse().ok()?;
    Some(Hold { call, amount: Amount { tokens, micro_usd }, reserved_at_s: at_s })
}

fn unreadable_attribute(item: &Attributes, name: &str) -> StoreError {
    let place = item.get(PARTITION).and_then(|value| value.as_s().ok());
    let place = place.map_or("a day", String::as_str);
    StoreError::Unreadable(format!("{place}: {name} is not what it should be"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::table::TableItem;
    use djinn_runtime::port::UserKey;
    use proptest::prelude::*;

    fn day() -> DayKey {
        let user = UserKey { tenant: sample::tenant(), user: sample::user() };
        DayKey { user, day: "2026-11-21".to_owned() }
    }

    proptest! {
        #[test]
        fn round_trips(
            tokens in 0u64..1 << 62, micro_usd in 0u64..1 << 62, at_s in any::<i64>(),
            call in "[a-z0-9.@]{1,40}", payers in prop::collection::btree_set("[0-9a-f]{16}", 0..4),
        ) {
            let hold = Hold { call, amount: Amount { tokens: micro_usd, micro_usd: tokens }, reserved_at_s: at_s };
            let holds = payers.into_iter().map(|payer| (payer, hold.clone())).collect();
            let item = DayItem { used: Amount { tokens, micro_usd }, holds };
            let stored = item.to_item(&day());
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Day(item))));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        for (name, value) in [
            ("used_tokens", AttributeValue::S("1".into())),
            ("used_micro_usd", AttributeValue::N("0.5".into())),
            ("hold_0123456789abcdef", AttributeValue::S("t1.1 4".into())),
            ("hold_0123456789abcdef", AttributeValue::N("4".into())),
        ] {
            let mut item = DayItem::key(&day()).into_attributes();
            item.insert(name.to_owned(), value);
            assert!(DayItem::from_item(&item).is_err(), "{name}");
        }
    }
}
