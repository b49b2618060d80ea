//! The files of sessions: users' uploads and files written by agents.

use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, UserId};
use djinn_core::tool::ToolState;

use super::{SessionKey, StoreError};

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// The name within the session.
    pub name: FileName,
    /// A description of one line, for users and the model.
    pub description: String,
    /// True for an intermediate result that users are not offered.
    pub internal: bool,
    /// The media type in responses.
    pub media_type: String,
    /// True for a user's upload; never true for a file written by a run.
    pub uploaded: bool,
    /// The user who writes the file, or whose run does: a guest, or the session's owner.
    pub writer: UserId,
}

/// The maximum number of names tried for a file, the requested name included.
const MAX_NAMES: u32 = 100;

/// Returns the names for a file in the order of the tries: `report.pdf`, `report (2).pdf` and so on.
pub fn numbered_names(name: &FileName) -> impl Iterator<Item = FileName> {
    let others = (2..=MAX_NAMES).map(|number| name.numbered(number));
    std::iter::once(name.clone()).chain(others)
}

/// Returns true if a CSV file has a row below its header; `None` for other media types.
#[must_use]
pub fn has_rows(media_type: &str, bytes: &[u8]) -> Option<bool> {
    let is_row = |line: &[u8]| !line.trim_ascii().is_empty();
    (media_type == "text/csv").then(|| bytes.split(|byte| *byte == b'\n').skip(1).any(is_row))
}

/// The store of sessions' files. Needs `dynamodb:GetItem`, `Query`, `PutItem` and `DeleteItem` on the table,
/// `s3:GetObject` and `PutObject` under the tenants' `files/` and `uploads/`, and `s3:ListBucket`.
pub trait Files {
    /// Writes a file, or replaces the same writer's file of this name: first the bytes, under the hash of
    /// their content, then the pointer. Another writer's file keeps its name and content; the new file is
    /// stored under the first free or own name of [`numbered_names`]. A repeated write only moves the file to
    /// the newest place in the session's order. Content named by an earlier `ProductFile` stays readable.
    ///
    /// # Errors
    /// Returns [`StoreError`], also if other writers have a file of each of these names.
    fn write_file(
        &self,
        session: &SessionKey,
        file: &NewFile,
        bytes: &[u8],
    ) -> impl Future<Output = Result<ProductFile, StoreError>> + Send;

    /// Returns the file of this name, if any. A file being uploaded exists as soon as all of its bytes are
    /// stored. Strongly consistent.
    fn find_file(
        &self,
        session: &SessionKey,
        name: &FileName,
    ) -> impl Future<Output = Result<Option<ProductFile>, StoreError>> + Send;

    /// Returns the announced files whose bytes have all arrived. Takes only a few requests for any number of
    /// files.
    fn find_arrived(
        &self,
        session: &SessionKey,
        announced: &[ProductFile],
    ) -> impl Future<Output = Result<Vec<ProductFile>, StoreError>> + Send;

    /// Returns every file of a session in the order of the last writes, oldest first. Strongly consistent.
    fn list_files(
        &self,
        session: &SessionKey,
    ) -> impl Future<Output = Result<Vec<ProductFile>, StoreError>> + Send;

    /// Stores a tool's state for its next call, under the hash of its content: not a file, but deleted with
    /// its session.
    fn write_state(
        &self,
        session: &SessionKey,
        bytes: &[u8],
    ) -> impl Future<Output = Result<ToolState, StoreError>> + Send;

    /// Returns a tool's stored state.
    ///
    /// # Errors
    /// Returns `Unreadable` if the bytes are gone, differ from the written bytes, or belong to another
    /// session.
    fn read_state(
        &self,
        session: &SessionKey,
        state: &ToolState,
    ) -> impl Future<Output = Result<Vec<u8>, StoreError>> + Send;

    /// Returns the first `limit` bytes of a file.
    ///
    /// # Errors
    /// Returns `Unreadable` if the bytes are gone, differ from the written bytes, or belong to another
    /// session.
    fn read_file(
        &self,
        session: &SessionKey,
        file: &ProductFile,
        limit: u64,
    ) -> impl Future<Output = Result<Vec<u8>, StoreError>> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_rows_below_its_header() {
        for (bytes, has) in [
            ("", false),
            ("a,b", false),
            ("a,b\r\n\n  \n", false),
            ("a,b\n1,2", true),
            ("a\n\n1", true),
        ] {
            assert_eq!(has_rows("text/csv", bytes.as_bytes()), Some(has), "{bytes:?}");
        }
        assert_eq!(has_rows("text/plain", b"a\nb"), None);
    }
}
