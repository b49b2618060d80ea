//! Streamed responses of a user, counted if their number is limited.

use djinn_core::id::RunId;

use super::{StoreError, UserKey};

/// A permit for one of a user's streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPermit {
    /// The user of the stream.
    pub user: UserKey,
    /// The name, unique among the user's permits.
    pub name: String,
}

/// The store of permits for streams. Needs `dynamodb:GetItem` and `UpdateItem` on the table.
pub trait Streams {
    /// Takes a permit for a new stream of this run; a user may have `most`. If all permits are taken, the
    /// oldest stream of the same run loses its permit, since the client may be the same. `None` if all
    /// permits are taken by other runs' streams. A permit is free again when released, and at `until_ms` at
    /// the latest, in Unix milliseconds. `word` makes the permit's name unique.
    ///
    /// # Errors
    /// Returns `Unavailable` or `Unreadable`.
    fn acquire_stream(
        &self,
        user: &UserKey,
        run: &RunId,
        word: &str,
        most: u32,
        until_ms: i64,
    ) -> impl Future<Output = Result<Option<StreamPermit>, StoreError>> + Send;

    /// Returns true if a stream still has its permit, which a newer stream of the same run may have taken.
    ///
    /// # Errors
    /// Returns `Unavailable` or `Unreadable`.
    fn has_stream(
        &self,
        permit: &StreamPermit,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Releases a permit; a free permit is no error.
    ///
    /// # Errors
    /// Returns `Unavailable` if the store fails: the permit then expires by itself.
    fn release_stream(
        &self,
        permit: &StreamPermit,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
