//! The live log: previews, and the entries of children at work, for viewers that are not the driver's own
//! client. It expires and may lose items; the journal never depends on it.

use std::time::Duration;

pub use djinn_protocol::preview::{Live, Preview};

use super::{RunKey, StoreError};

/// Where to read a live log from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveFrom {
    /// What was written at this moment or later, Unix milliseconds.
    Moment(i64),
    /// What stands behind this position, which a read returned.
    Position(String),
}

/// How long the pieces of a live log are of use, and kept at least.
pub const LIVE_RETENTION: Duration = Duration::from_secs(10 * 60);

/// Live logs. Needs `dynamodb:PutItem`, `Query` and `UpdateItem` on the table. Pieces are kept for
/// [`LIVE_RETENTION`].
pub trait LiveLog {
    /// Adds pieces and entries, written by one writer at one moment; at most 300 KB. Those whose first
    /// one has the same offset or place as another's of this writer and moment replace it.
    fn write_live(
        &self,
        key: &RunKey,
        writer: &str,
        at_ms: i64,
        pieces: &[Live],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The pieces written from there on, in the order of their moments, and the position to ask from
    /// next time, which is the same if there are none. Eventually consistent: pieces of a writer whose
    /// clock is behind another's may be missed.
    fn read_live(
        &self,
        key: &RunKey,
        from: &LiveFrom,
    ) -> impl Future<Output = Result<(Vec<Live>, LiveFrom), StoreError>> + Send;

    /// Notes in the run's mailbox that a viewer watches until this moment; of several viewers the longest
    /// counts. The driver finds the note when it reads the mailbox next, at no cost. The note expires after that
    /// moment.
    fn mark_watched(
        &self,
        key: &RunKey,
        until_ms: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
