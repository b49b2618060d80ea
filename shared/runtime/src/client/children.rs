//! The entries of children that a client has received, and the missing entries.

use djinn_core::id::Path;
use djinn_protocol::connection::MissingEntry;

use super::ClientStream;

impl ClientStream {
    /// Returns the children with missing entries, and the position of the first missing entry of each; see
    /// [`djinn_protocol::connection::Connection::missing_entries`].
    #[must_use]
    pub fn missing_entries(&self) -> Vec<MissingEntry> {
        self.connection.missing_entries().filter(|_| self.is_open()).collect()
    }

    /// Returns the children at work; see [`djinn_protocol::connection::Connection::lanes_at_work`].
    #[must_use]
    pub fn lanes_at_work(&self) -> Vec<Path> {
        self.connection.lanes_at_work().filter(|_| self.is_open()).cloned().collect()
    }

    /// Marks an entry known to exist as missing; see
    /// [`djinn_protocol::connection::Connection::expect_entry`].
    pub fn expect_entry(&mut self, path: &Path, nth: u64) {
        self.connection.expect_entry(path, nth);
    }

    /// Returns true if [`Self::missing_entries`] is not empty.
    #[must_use]
    pub fn has_missing_entries(&self) -> bool {
        self.is_open() && self.connection.missing_entries().next().is_some()
    }
}
