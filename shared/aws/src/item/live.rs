//! `LIVE#<run>#<shard>` / `<time>#<writer>#<offset>`: previews, the progress of calls, and the entries of
//! children at work.

use djinn_runtime::port::live::{LIVE_RETENTION, Live};
use djinn_runtime::port::{RunKey, StoreError};
use serde::{Deserialize, Serialize};

use super::{read_item, write_item};
use crate::key::{Attributes, ItemKey, LIVE_SHARDS, live_moment, live_partition};

/// The pieces added by one writer at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LiveItem {
    /// The pieces as JSON.
    pieces: String,
    expires: i64,
}

impl LiveItem {
    pub(crate) fn new(pieces: &[Live], at_ms: i64) -> Result<Self, StoreError> {
        let pieces = serde_json::to_string(pieces)
            .map_err(|error| StoreError::Unreadable(format!("previews: {error}")))?;
        let kept_s = i64::try_from(LIVE_RETENTION.as_secs()).unwrap_or(i64::MAX);
        Ok(Self { pieces, expires: at_ms.div_euclid(1000).saturating_add(kept_s) })
    }

    /// Returns the item's key. The offset of the first piece separates two writes within a millisecond, and
    /// makes a repeated write idempotent.
    pub(crate) fn key(run: &RunKey, writer: &str, at_ms: i64, pieces: &[Live]) -> ItemKey {
        let offset = pieces.first().map_or(0, |first| match first {
            Live::Preview(piece) => piece.offset,
            Live::Progress(piece) => piece.offset,
            Live::Entry(early) => early.index,
        });
        let sk = format!("{}#{writer}#{offset:010}", live_moment(at_ms));
        ItemKey::new(live_partition(run, shard_of(writer)), sk)
    }

    pub(crate) fn to_item(&self, key: ItemKey) -> Result<Attributes, StoreError> {
        write_item(key, self)
    }

    pub(crate) fn from_item(item: Attributes) -> Result<Self, StoreError> {
        read_item(item)
    }

    pub(crate) fn read_pieces(&self) -> Result<Vec<Live>, StoreError> {
        serde_json::from_str(&self.pieces)
            .map_err(|error| StoreError::Unreadable(format!("previews: {error}")))
    }
}

/// Returns the shard of a writer, equal in every process.
fn shard_of(writer: &str) -> u64 {
    // FNV-1a: short, and unlike the standard library's hasher fixed for ever.
    let hash = writer.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash % LIVE_SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use crate::table::TableItem;
    use djinn_core::id::MessageId;
    use djinn_runtime::port::live::Preview;
    use djinn_runtime::port::model::TextKind;
    use proptest::prelude::*;

    fn piece(offset: u64, text: &str) -> Live {
        Live::Preview(Preview {
            path: djinn_core::id::Path::default(),
            message: MessageId::for_turn(1),
            attempt: 1,
            kind: TextKind::Text,
            offset,
            text: text.to_owned(),
            at_ms: 5,
        })
    }

    proptest! {
        #[test]
        fn round_trips(offset in 0u64..1 << 32, text in ".{0,80}", at_ms in 0i64..1 << 42) {
            let pieces = [piece(offset, &text), piece(offset + 9, "界")];
            let live = LiveItem::new(&pieces, at_ms).unwrap();
            let key = LiveItem::key(&sample::run(), "h.1", at_ms, &pieces);
            let stored = live.to_item(key).unwrap();
            prop_assert_eq!(TableItem::from_item(stored), Ok(Some(TableItem::Live(live.clone()))));
            prop_assert_eq!(live.read_pieces(), Ok(pieces.to_vec()));
        }
    }

    #[test]
    fn no_partition_gets_far_more_than_its_part_of_the_writers() {
        for (writers, most) in [(30, 0.5), (100, 0.4), (1_000, 0.3)] {
            let mut parts = [0.0; LIVE_SHARDS as usize];
            for writer in 0..writers {
                // As the executor names itself: when it began, and something random.
                let random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(writer + 7);
                let name = format!("executor.{:x}.{random:x}", 1_795_219_200_000 + writer % 3);
                parts[shard_of(&name) as usize] += 1.0;
            }
            let largest = parts.iter().copied().fold(0.0, f64::max) / writers as f64;
            assert!(largest <= most, "{largest} of {writers} in one partition");
        }
    }

    #[test]
    fn sorts_by_time_then_writer_then_offset() {
        let key =
            |at_ms, offset| LiveItem::key(&sample::run(), "w", at_ms, &[piece(offset, "")]).sk;
        assert_eq!(key(5, 7), "0000000000005#w#0000000007");
        assert!(key(5, 7) < key(5, 10) && key(5, 10) < key(6, 0));
    }

    #[test]
    fn rejects_a_garbled_item() {
        assert!(LiveItem { pieces: "[1]".into(), expires: 0 }.read_pieces().is_err());
        let key = LiveItem::key(&sample::run(), "w", 0, &[]);
        assert!(LiveItem::from_item(key.into_attributes()).is_err());
    }
}
