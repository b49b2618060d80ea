//! What a client was shown of runs below its own, and what it misses of them.

use djinn_core::id::Path;
use djinn_protocol::connection::MissingEntry;

use super::ClientStream;

impl ClientStream {
    /// The children of which the client would be shown more if it were told, and the place of the first
    /// entry that is missing; see [`djinn_protocol::connection::Connection::missing_entries`].
    #[must_use]
    pub fn missing_entries(&self) -> Vec<MissingEntry> {
        self.connection.missing_entries().filter(|_| self.is_open()).collect()
    }

    /// The runs below that are at work; see [`djinn_protocol::connection::Connection::lanes_at_work`].
    #[must_use]
    pub fn lanes_at_work(&self) -> Vec<Path> {
        self.connection.lanes_at_work().filter(|_| self.is_open()).cloned().collect()
    }

    /// Has an entry be missed that is known to be there; see
    /// [`djinn_protocol::connection::Connection::expect_entry`].
    pub fn expect_entry(&mut self, path: &Path, nth: u64) {
        self.connection.expect_entry(path, nth);
    }

    /// Whether [`Self::missing_entries`] has any.
    #[must_use]
    pub fn has_missing_entries(&self) -> bool {
        self.is_open() && self.connection.missing_entries().next().is_some()
    }
}
