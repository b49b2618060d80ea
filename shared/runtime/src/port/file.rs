//! The files of sessions: what users upload and agents write.

use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, UserId};
use djinn_core::tool::ToolState;

use super::{SessionKey, StoreError};

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Its name within the session.
    pub name: FileName,
    /// One line for people and for the model.
    pub description: String,
    /// Whether it is an intermediate result that users are not offered.
    pub internal: bool,
    /// The media type it is served with.
    pub media_type: String,
    /// Whether a user hands it in; no run may say so of what it writes.
    pub uploaded: bool,
    /// The user who writes it, or whose run does: a guest, or the owner of the session.
    pub writer: UserId,
}

/// Names that are tried for a file, the name it was given included.
const MAX_NAMES: u32 = 100;

/// The names for a file, in the order in which they are tried: `report.pdf`, `report (2).pdf` and so on.
pub fn numbered_names(name: &FileName) -> impl Iterator<Item = FileName> {
    let numbered = (2..=MAX_NAMES).map(|number| name.numbered(number));
    std::iter::once(name.clone()).chain(numbered)
}

/// Whether a file of this media type has a row below its header; `None` for what is no CSV.
#[must_use]
pub fn has_rows(media_type: &str, bytes: &[u8]) -> Option<bool> {
    let is_row = |line: &[u8]| !line.trim_ascii().is_empty();
    (media_type == "text/csv").then(|| bytes.split(|byte| *byte == b'\n').skip(1).any(is_row))
}

/// Files of sessions. Needs `dynamodb:GetItem`, `Query`, `PutItem` and `DeleteItem` on the table,
/// `s3:GetObject`, `PutObject` under the tenants' `files/` and `uploads/`, and `s3:ListBucket`.
pub trait Files {
    /// Writes a file, replacing one of its name by the same writer: its bytes first, under the hash of their
    /// content, then the pointer. A file by anyone else keeps its name and content; the new file is stored under
    /// the first of [`numbered_names`] that is free or the writer's. Writing the same twice changes nothing but
    /// its place in the session's order, which is the newest then. Bytes that an earlier `ProductFile` names stay
    /// readable.
    ///
    /// # Errors
    /// [`StoreError`], also if others have a file of each of these names.
    fn write_file(
        &self,
        session: &SessionKey,
        file: &NewFile,
        bytes: &[u8],
    ) -> impl Future<Output = Result<ProductFile, StoreError>> + Send;

    /// The file of that name, if there is one. One that is being uploaded is there as soon as all
    /// of its bytes are. Strongly consistent.
    fn find_file(
        &self,
        session: &SessionKey,
        name: &FileName,
    ) -> impl Future<Output = Result<Option<ProductFile>, StoreError>> + Send;

    /// Which of these files, that were announced, are files of the session by now: all of their bytes are
    /// there. However many there are, looking for them takes a few requests.
    fn find_arrived(
        &self,
        session: &SessionKey,
        announced: &[ProductFile],
    ) -> impl Future<Output = Result<Vec<ProductFile>, StoreError>> + Send;

    /// Every file of a session, in the order they were last written, oldest first. Strongly
    /// consistent.
    fn list_files(
        &self,
        session: &SessionKey,
    ) -> impl Future<Output = Result<Vec<ProductFile>, StoreError>> + Send;

    /// Keeps what a tool has for its next call, under the hash of its content: no file, but gone with its session.
    fn write_state(
        &self,
        session: &SessionKey,
        bytes: &[u8],
    ) -> impl Future<Output = Result<ToolState, StoreError>> + Send;

    /// All that was kept so.
    ///
    /// # Errors
    /// `Unreadable` if its bytes are gone, are not what was kept, or are another session's.
    fn read_state(
        &self,
        session: &SessionKey,
        state: &ToolState,
    ) -> impl Future<Output = Result<Vec<u8>, StoreError>> + Send;

    /// The first `limit` bytes of a file.
    ///
    /// # Errors
    /// `Unreadable` if its bytes are gone, are not what was written, or are another session's.
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
