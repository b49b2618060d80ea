//! `RUN#<run>` / `J#<n>`: a journal record.

use djinn_core::id::WriteId;
use djinn_core::journal::{RecordHash, RecordText};
use djinn_runtime::port::{RunKey, StoreError};
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::body::Body;
use crate::key::{Attributes, ItemKey, record_sort, run_partition};

/// A journal record. Attributes independent of the format are stored beside the body, so older code can still
/// read the owner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordItem {
    /// The [`FORMAT`](djinn_core::journal::FORMAT) of the code with which the record was written.
    pub(crate) v: u16,
    pub(crate) n: u64,
    pub(crate) write: WriteId,
    pub(crate) epoch: u64,
    pub(crate) at_ms: i64,
    /// The hash of the record before.
    #[serde(default)]
    pub(crate) previous: RecordHash,
    /// The hash of this record: see [`RecordText::compute_hash`].
    #[serde(default)]
    pub(crate) hash: RecordHash,
    /// The inputs and entries, as JSON.
    pub(crate) body: Body,
    /// For a child's first record: the part shared by its round, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) round_start: Option<Body>,
    pub(crate) expires: i64,
}

impl RecordItem {
    pub(crate) fn key(run: &RunKey, n: u64) -> ItemKey {
        ItemKey::new(run_partition(run), record_sort(n))
    }

    pub(crate) fn to_item(&self, run: &RunKey) -> Result<Attributes, StoreError> {
        write_item(Self::key(run, self.n), self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }

    /// Returns the record's size in bytes, inline or in the bucket.
    pub(crate) fn total_bytes(&self) -> usize {
        let round_start = self.round_start.as_ref().map_or(0, Body::total_bytes);
        usize::try_from(self.body.total_bytes().saturating_add(round_start)).unwrap_or(usize::MAX)
    }

    /// Returns the record with these texts, as read from the item or the bucket.
    pub(crate) fn into_text(self, body: String, round_start: Option<String>) -> RecordText {
        RecordText {
            format: self.v,
            number: self.n,
            write: self.write,
            epoch: self.epoch,
            at_ms: self.at_ms,
            previous: self.previous,
            hash: self.hash,
            body,
            round_start,
        }
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
            v in any::<u16>(), n in 0u64..10_000_000_000, epoch in any::<u64>(),
            at_ms in any::<i64>(), body in any_body(),
            round_start in proptest::option::of(any_body()), expires in any::<i64>(),
        ) {
            let write = WriteId::new("h.1.2").unwrap();
            let (previous, hash) = Default::default();
            let record =
                RecordItem { v, n, write, epoch, at_ms, previous, hash, body, round_start, expires };
            let stored = record.to_item(&sample::run()).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Record(record))));
        }

        #[test]
        fn records_sort_by_their_numbers(a in 0u64..10_000_000_000, b in 0u64..10_000_000_000) {
            let sort = |n| RecordItem::key(&sample::run(), n).sk;
            prop_assert_eq!(sort(a).cmp(&sort(b)), a.cmp(&b));
        }
    }

    #[test]
    fn rejects_a_garbled_item() {
        let key = RecordItem::key(&sample::run(), 4);
        assert!(RecordItem::from_item(key.into_attributes()).is_err());
    }
}
