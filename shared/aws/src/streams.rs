//! Responses that are streamed to a user, counted where their number has a bound.

use aws_sdk_dynamodb::types::AttributeValue;
use djinn_core::id::RunId;
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
    /// Takes a place for one more stream of a user's, of whom there may be `most`, which shows this run.
    /// `None` if all are taken, and none by a stream of the same run: the oldest of those loses its place to
    /// the new one, whose client may be the same. A place is free again when it is given back, and at this
    /// moment at the latest, Unix milliseconds; `word` tells it from all others.
    ///
    /// # Errors
    /// `Unavailable`, or `Unreadable`.
    pub async fn take_stream(
        &self,
        user: &UserKey,
        run: &RunId,
        word: &str,
        most: u32,
        until_ms: i64,
    ) -> Result<Option<StreamPlace>, StoreError> {
        let until_s = until_ms.max(0).div_euclid(1_000);
        let name = StreamsItem::place(until_s, run, word);
        let place = StreamPlace { user: user.clone(), name };
        let expires_at_s = until_s.saturating_add(KEPT_S);
        let Some(taken) = self.try_stream(&place, most, expires_at_s).await? else {
            return Ok(Some(place));
        };
        let mut free = taken.over(self.now_ms().div_euclid(1_000));
        if free.is_empty() {
            free.extend(taken.oldest_of(run));
        }
        if free.is_empty() {
            return Ok(None);
        }
        self.change(without(user, free)).await?;
        let taken = self.try_stream(&place, most, expires_at_s).await?;
        Ok(taken.is_none().then_some(place))
    }

    /// Takes a place if one is free; else returns those that are taken.
    async fn try_stream(
        &self,
        place: &StreamPlace,
        most: u32,
        expires_at_s: i64,
    ) -> Result<Option<StreamsItem>, StoreError> {
        let take = Change {
            key: StreamsItem::key(&place.user),
            expression: "SET #expires = :expires ADD #places :place",
            condition: "attribute_not_exists(#places) OR size(#places) < :most",
            values: values([
                (":place", AttributeValue::Ss(vec![place.name.clone()])),
                (":most", number(&most)),
                (":expires", number(&expires_at_s)),
            ]),
        };
        match self.change(take).await? {
            Changed::Done(_) => Ok(None),
            Changed::Refused(stored) => {
                let taken = StreamsItem::from_item(&stored)?;
                // The reply to the request before may have been lost.
                Ok(Some(taken).filter(|taken| !taken.places.contains(&place.name)))
            }
        }
    }

    /// Whether a stream still has its place: a newer one of the same run may have taken it.
    ///
    /// # Errors
    /// `Unavailable`, or `Unreadable`.
    pub async fn has_stream(&self, place: &StreamPlace) -> Result<bool, StoreError> {
        let item = self.get(StreamsItem::key(&place.user)).await?;
        let taken = item.as_ref().map(StreamsItem::from_item).transpose()?;
        Ok(taken.is_some_and(|taken| taken.places.contains(&place.name)))
    }

    /// Gives a place back; one that is free already is no error.
    ///
    /// # Errors
    /// `Unavailable`: it is free when its time is over.
    pub async fn give_stream_back(&self, place: &StreamPlace) -> Result<(), StoreError> {
        self.change(without(&place.user, vec![place.name.clone()])).await.map(|_| ())
    }
}

fn without(user: &UserKey, places: Vec<String>) -> Change<'static> {
    Change {
        key: StreamsItem::key(user),
        expression: "DELETE #places :places",
        condition: "attribute_exists(#places)",
        values: values([(":places", AttributeValue::Ss(places))]),
    }
}
