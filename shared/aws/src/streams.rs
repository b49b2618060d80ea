//! Responses that are streamed to a user, counted where their number has a bound.

use djinn_runtime::port::StoreError;
use djinn_runtime::port::catalog::UserKey;

use crate::item::places::{place, streams_of};
use crate::store::AwsStore;

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
        let name = place(until_s, word);
        let expires_s = until_s.saturating_add(KEPT_S);
        let taken = self.take_place(&streams_of(user), &name, most, expires_s).await?;
        Ok(taken.then(|| StreamPlace { user: user.clone(), name }))
    }

    /// Gives a place back; one that is free already is no error.
    ///
    /// # Errors
    /// `Unavailable`: it is free when its time is over.
    pub async fn give_stream_back(&self, place: &StreamPlace) -> Result<(), StoreError> {
        self.free_places(&streams_of(&place.user), vec![place.name.clone()]).await
    }
}
