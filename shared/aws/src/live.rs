//! The live log is kept as items in several shards per run, and read in order of position.

use djinn_runtime::port::live::{Live, LiveFrom, LiveLog};
use djinn_runtime::port::{RunKey, StoreError};
use futures::future::try_join_all;

use crate::change::{ItemChange, number, text, values};
use crate::item::live::LiveItem;
use crate::item::mail::MailItem;
use crate::key::{Attributes, LIVE_SHARDS, SORT, live_moment, live_partition};
use crate::query::Query;
use crate::store::{AwsStore, ChangeResult};

/// The sort key of a viewer's note, among a run's mail.
const WATCHED: &str = "watched#";

/// The format of a viewer's note. Older code takes the note for newer mail, and ignores the note.
const WATCHED_FORMAT: u16 = u16::MAX;

/// The last sort key, after every position.
const LAST: &str = "9~";

impl LiveLog for AwsStore {
    async fn write_live(
        &self,
        key: &RunKey,
        writer: &str,
        at_ms: i64,
        pieces: &[Live],
    ) -> Result<(), StoreError> {
        if pieces.is_empty() {
            return Ok(());
        }
        let place = LiveItem::key(key, writer, at_ms, pieces);
        self.put_item(LiveItem::new(pieces, at_ms)?.to_item(place)?).await
    }

    async fn read_live(
        &self,
        key: &RunKey,
        from: &LiveFrom,
    ) -> Result<(Vec<Live>, LiveFrom), StoreError> {
        let first = match from {
            LiveFrom::Moment(at_ms) => live_moment(*at_ms),
            // A space sorts before every character of a position, so the range starts after this position.
            LiveFrom::Position(position) => format!("{position} "),
        };
        let shards = (0..LIVE_SHARDS).map(|shard| {
            self.query_items(
                Query::range(live_partition(key, shard), first.as_str(), LAST)
                    .eventually_consistent(),
            )
        });
        let mut items: Vec<_> = try_join_all(shards).await?.into_iter().flatten().collect();
        items.sort_by(|a, b| live_position(a).cmp(live_position(b)));
        let last = items.last().map(|item| LiveFrom::Position(live_position(item).to_owned()));
        let next = last.unwrap_or_else(|| from.clone());
        let mut pieces = Vec::new();
        for item in items {
            pieces.extend(LiveItem::from_item(item)?.read_pieces()?);
        }
        Ok((pieces, next))
    }

    async fn mark_watched(&self, key: &RunKey, until_ms: i64) -> Result<(), StoreError> {
        let change = ItemChange {
            key: MailItem::key(key, WATCHED),
            expression: "SET #v = :v, #body = :body, #expires = :expires, #watched_until_ms = :until",
            condition: "attribute_not_exists(#watched_until_ms) OR #watched_until_ms < :until",
            values: values([
                (":v", number(&WATCHED_FORMAT)),
                (":body", text("")),
                (":expires", number(&(until_ms / 1000 + 1))),
                (":until", number(&until_ms)),
            ]),
        };
        match self.update_item(change).await? {
            // Refused: another viewer watches for longer.
            ChangeResult::Done(_) | ChangeResult::Refused(_) => Ok(()),
        }
    }
}

/// Returns the watch time of a viewer's note, Unix milliseconds; `None` for mail.
pub(crate) fn watched_until_ms(run: &RunKey, item: &Attributes) -> Option<i64> {
    let is_note = item.get(SORT)?.as_s().ok()? == &MailItem::key(run, WATCHED).sk;
    is_note.then(|| item.get("watched_until_ms")?.as_n().ok()?.parse().ok()).flatten()
}

fn live_position(item: &Attributes) -> &str {
    item.get(SORT).and_then(|sort| sort.as_s().ok()).map_or("", String::as_str)
}
