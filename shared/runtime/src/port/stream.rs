//! Responses that are streamed to a user, counted where their number has a bound.

use djinn_core::id::RunId;

use super::{StoreError, UserKey};

/// A permit for one of a user's streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPermit {
    /// Whose stream it is.
    pub user: UserKey,
    /// What tells it from every other permit of the user.
    pub name: String,
}

/// Permits for streams. Needs `dynamodb:GetItem` and `UpdateItem` on the table.
pub trait Streams {
    /// Takes a permit for one more stream of a user's, of whom there may be `most`, which shows this run.
    /// `None` if all are taken, and none by a stream of the same run: the oldest of those loses its permit to
    /// the new one, whose client may be the same. A permit is free again when it is given back, and at this
    /// moment at the latest, Unix milliseconds; `word` tells it from all others.
    ///
    /// # Errors
    /// `Unavailable`, or `Unreadable`.
    fn acquire_stream(
        &self,
        user: &UserKey,
        run: &RunId,
        word: &str,
        most: u32,
        until_ms: i64,
    ) -> impl Future<Output = Result<Option<StreamPermit>, StoreError>> + Send;

    /// Whether a stream still has its permit: a newer one of the same run may have taken it.
    ///
    /// # Errors
    /// `Unavailable`, or `Unreadable`.
    fn has_stream(
        &self,
        permit: &StreamPermit,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Gives a permit back; one that is free already is no error.
    ///
    /// # Errors
    /// `Unavailable`: it is free when its time is over.
    fn release_stream(
        &self,
        permit: &StreamPermit,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
