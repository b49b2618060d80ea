//! `USER#<user>` / `STREAMS`: the responses that are streamed to a user, where their number has a bound.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_core::id::RunId;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::catalog::UserKey;

use crate::table::{Attributes, Key, STREAMS, user_partition};

/// Places that are taken, each named by when it is over at the latest (Unix seconds, 10 digits), the run that
/// is shown there, and a word of its own. Changed by updates; a set of strings, whose size is what the bound is about, and which is not
/// there when it is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StreamsItem {
    pub(crate) places: BTreeSet<String>,
}

impl StreamsItem {
    pub(crate) fn key(user: &UserKey) -> Key {
        Key::new(user_partition(&user.tenant, &user.user), STREAMS)
    }

    pub(crate) fn from_item(item: &Attributes) -> Result<Self, StoreError> {
        match item.get("places") {
            None => Ok(Self::default()),
            Some(AttributeValue::Ss(places)) => {
                Ok(Self { places: places.iter().cloned().collect() })
            }
            Some(other) => Err(StoreError::Unreadable(format!("a user's streams: {other:?}"))),
        }
    }

    /// The name of a place.
    pub(crate) fn place(until_s: i64, run: &RunId, word: &str) -> String {
        format!("{until_s:010}.{run}.{word}")
    }

    /// Of the places where this run is shown, the one that is over first.
    pub(crate) fn oldest_of(&self, run: &RunId) -> Option<String> {
        let shown = |place: &&String| place.split('.').nth(1) == Some(run.as_str());
        self.places.iter().find(shown).cloned()
    }

    /// The places that were not given back in time, at this moment, Unix seconds: whoever had them is gone.
    pub(crate) fn over(&self, now_s: i64) -> Vec<String> {
        let ends_s = |place: &str| place.split_once('.')?.0.parse::<i64>().ok();
        let is_over = |place: &&String| ends_s(place).is_none_or(|ends_s| ends_s <= now_s);
        self.places.iter().filter(is_over).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::table::Item;

    fn stored(places: Option<AttributeValue>) -> Attributes {
        let user = UserKey { tenant: sample::tenant(), user: sample::user() };
        let mut item = StreamsItem::key(&user).attributes();
        item.extend(places.map(|places| ("places".to_owned(), places)));
        item
    }

    #[test]
    fn reads_what_updates_write_and_tells_who_is_gone() {
        let places = ["0000000099.a", "0000000100.b", "0000000101.c"].map(str::to_owned);
        let item = stored(Some(AttributeValue::Ss(places.to_vec())));
        let read = StreamsItem { places: BTreeSet::from(places) };
        assert_eq!(Item::from_item(item), Ok(Some(Item::Streams(read.clone()))));
        assert_eq!(read.over(100), ["0000000099.a", "0000000100.b"]);
        assert_eq!(StreamsItem::from_item(&stored(None)), Ok(StreamsItem::default()));
        let (ours, other) =
            (sample::run_id(), RunId::new(format!("run_{}", "0".repeat(32))).unwrap());
        let mut shown = StreamsItem::default();
        let [late, early] = [101, 100].map(|until_s| StreamsItem::place(until_s, &ours, "w"));
        shown.places.extend([late, early.clone(), StreamsItem::place(99, &other, "w")]);
        assert_eq!((shown.oldest_of(&ours), read.oldest_of(&ours)), (Some(early), None));
        assert_eq!(shown.over(100).len(), 2);
        let garbled = AttributeValue::S("0000000099.a".into());
        assert!(StreamsItem::from_item(&stored(Some(garbled))).is_err());
    }
}
