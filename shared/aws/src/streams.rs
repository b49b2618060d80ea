//! Responses that are streamed to a user, counted where their number has a bound.

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_runtime::port::StoreError;
use djinn_runtime::port::catalog::UserKey;

use crate::change::{Change, number, values};
use crate::item::streams::StreamsItem;
use crate::store::{AwsStore, Changed};

/// Seconds that the places are kept after the last of them is over.
const KEPT_S: i64 = 60 * 60;

/// A place among a user's streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPlace {
    user: UserKey,
    name: String,
}

impl AwsStore {
    /// Takes a place for one more stream of a user's, of whom there may be `most`. `None` if all are taken. It
    /// is free again when it is given back, and at this moment at the latest, Unix milliseconds; `word` tells it
    /// from all others.
    ///
    /// # Errors
    /// `Unavailable`, or `Unreadable`.
    pub async fn take_stream(
        &self,
        user: &UserKey,
        word: &str,
        most: u32,
        until_ms: i64,
    ) -> Result<Option<StreamPlace>, StoreError> {
        let until_s = until_ms.max(0).div_euclid(1_000);
        let place = StreamPlace { user: user.clone(), name: format!("{until_s:010}.{word}") };
        let take = || Change {
            key: StreamsItem::key(user),
            expression: "SET #expires = :expires ADD #places :place",
            condition: "attribute_not_exists(#places) OR size(#places) < :most",
            values: values([
                (":place", AttributeValue::Ss(vec![place.name.clone()])),
                (":most", number(&most)),
                (":expires", number(&until_s.saturating_add(KEPT_S))),
            ]),
        };
        let stored = match self.change(take()).await? {
            Changed::Done(_) => return Ok(Some(place)),
            Changed::Refused(stored) => stored,
        };
        let now_s = self.now_ms().div_euclid(1_000);
        let over = StreamsItem::from_item(&stored)?.over(now_s);
        if over.is_empty() {
            return Ok(None);
        }
        self.change(free(user, over)).await?;
        match self.change(take()).await? {
            Changed::Done(_) => Ok(Some(place)),
            Changed::Refused(_) => Ok(None),
        }
    }

    /// Gives a place back; one that is free already is no error.
    ///
    /// # Errors
    /// `Unavailable`: it is free when its time is over.
    pub async fn give_stream_back(&self, place: &StreamPlace) -> Result<(), StoreError> {
        self.change(free(&place.user, vec![place.name.clone()])).await.map(|_| ())
    }
}

fn free(user: &UserKey, places: Vec<String>) -> Change<'static> {
    Change {
        key: StreamsItem::key(user),
        expression: "DELETE #places :places",
        condition: "attribute_exists(#places)",
        values: values([(":places", AttributeValue::Ss(places))]),
    }
}
