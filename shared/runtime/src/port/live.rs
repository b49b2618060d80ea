//! The live log: previews and early entries of children, for viewers other than the driver's own client. The
//! log expires and may lose items. A journal takes only one thing from the log, and may go without: the
//! unfinished text of a child that is stopped.

use std::time::Duration;

pub use djinn_protocol::preview::{Live, Preview};

use super::{RunKey, StoreError};

/// The start of a read from a live log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveFrom {
    /// Items written at this time or later, in Unix milliseconds.
    Moment(i64),
    /// Items after this position, which an earlier read returned.
    Position(String),
}

/// The minimum lifetime of a piece in the live log.
pub const LIVE_RETENTION: Duration = Duration::from_secs(10 * 60);

/// The store of live logs. Needs `dynamodb:PutItem`, `Query` and `UpdateItem` on the table. Pieces are kept
/// for [`LIVE_RETENTION`].
pub trait LiveLog {
    /// Adds pieces and entries of one writer at one moment; at most 300 KB. Replaces an earlier write with
    /// the same writer, moment, and first offset or index.
    fn write_live(
        &self,
        key: &RunKey,
        writer: &str,
        at_ms: i64,
        pieces: &[Live],
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Returns the pieces after `from` in the order of their times, and the position for the next read,
    /// unchanged if there are no pieces. Eventually consistent: a read may miss pieces of a writer whose
    /// clock is slow.
    fn read_live(
        &self,
        key: &RunKey,
        from: &LiveFrom,
    ) -> impl Future<Output = Result<(Vec<Live>, LiveFrom), StoreError>> + Send;

    /// Notes in the run's mailbox that a viewer watches until this time; of several viewers the latest time
    /// counts. The driver finds the note with its next read of the mailbox, at no cost. The note expires at
    /// this time.
    fn mark_watched(
        &self,
        key: &RunKey,
        until_ms: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;
}
