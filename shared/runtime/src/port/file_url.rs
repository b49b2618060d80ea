//! URLs with which clients read and write files directly in the store.

mod disposition;

use std::time::Duration;

use djinn_core::file::ProductFile;
use djinn_core::id::{BadId, TenantId, sha256_hex};

use super::file::NewFile;
use super::{SessionKey, StoreError};

/// The maximum number of announced files of a session that may still be uploaded. Each listing looks for all
/// of these files.
pub const MAX_ANNOUNCED: u32 = 100;

/// The length of a name's hash, in characters.
const HASH_LETTERS: usize = 32;

/// The hash of a name that must not be readable: the first 32 hexadecimal digits of its SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameHash(String);

impl NameHash {
    /// Computes the hash of a name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let mut hash = sha256_hex(name.as_bytes());
        hash.truncate(HASH_LETTERS);
        Self(hash)
    }

    /// Returns the digits in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for NameHash {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
        if text.len() == HASH_LETTERS && digits == HASH_LETTERS {
            Ok(Self(text))
        } else {
            Err(BadId { what: "hash", rule: "32 hexadecimal digits" })
        }
    }
}

impl From<NameHash> for String {
    fn from(hash: NameHash) -> Self {
        hash.0
    }
}

/// The folder of a session's files. Hashes hide the owner and the label; a label may also be `..`, or too
/// long for a file name of the local store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The tenant: the first part of every key in the folder, not hashed.
    pub tenant: TenantId,
    /// The hash of the session's owner.
    pub owner: NameHash,
    /// The hash of the session's label.
    pub session: NameHash,
}

impl From<&SessionKey> for Folder {
    fn from(session: &SessionKey) -> Self {
        let SessionKey { tenant, owner, session } = session;
        Self {
            tenant: tenant.clone(),
            owner: NameHash::of(owner.as_str()),
            session: NameHash::of(session.as_str()),
        }
    }
}

/// A browser's treatment of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// The browser shows the file itself, if possible.
    Inline,
    /// The browser saves the file under its name.
    Attachment,
}

/// The beginning of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStart {
    /// The first bytes, up to the requested number.
    pub bytes: Vec<u8>,
    /// The size of the whole content, in bytes.
    pub size: u64,
}

/// A URL for the upload of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresignedPut {
    /// The URL for one `PUT` of the announced size. Contains a signature: must not be logged.
    pub url: String,
    /// The required headers of the request; a browser adds `content-length` itself.
    pub headers: Vec<(String, String)>,
    /// The file as announced.
    pub file: ProductFile,
}

/// The URLs of files. Needs `s3:GetObject` and `PutObject` under the tenants' `files/` and `uploads/`,
/// `s3:ListBucket`, and `dynamodb:GetItem`, `Query` and `PutItem` on the table.
pub trait FileUrls {
    /// Returns a URL with which anybody can read a file, valid for at most 12 hours and no longer than the
    /// function's own credentials. Makes no request.
    ///
    /// # Errors
    /// Returns `Unreadable` if the file names no object of a session, `Unavailable` without credentials.
    fn presign_get(
        &self,
        folder: &Folder,
        file: &ProductFile,
        disposition: Disposition,
        valid_for: Duration,
    ) -> impl Future<Output = Result<String, StoreError>> + Send;

    /// Returns the first `limit` bytes of a file and its size; `None` if the content was deleted with its
    /// session or has expired. Needs no record of the file, so earlier content is readable as well.
    ///
    /// # Errors
    /// Returns `Unreadable` if the file names no object of a session, or `Unavailable`.
    fn read_start(
        &self,
        folder: &Folder,
        file: &ProductFile,
        limit: u64,
    ) -> impl Future<Output = Result<Option<FileStart>, StoreError>> + Send;

    /// Returns a URL to upload a file of exactly this size, once. The file appears in `list_files`,
    /// `find_file` and `load_session` as soon as its bytes are stored; until then an existing file of its
    /// name stays unchanged. The name is chosen as in `write_file`. If another user's file takes the name
    /// before the bytes arrive, the next free name is used. `None` while [`MAX_ANNOUNCED`] other files of the
    /// session are announced.
    ///
    /// # Errors
    /// Returns `Unavailable`, or `TooLarge` if the description is too long.
    fn presign_put(
        &self,
        session: &SessionKey,
        file: &NewFile,
        size: u64,
        valid_for: Duration,
    ) -> impl Future<Output = Result<Option<PresignedPut>, StoreError>> + Send;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_of_a_name_is_read_back_and_nothing_else_is() {
        let hash = NameHash::of("you");
        assert_eq!(NameHash::try_from(String::from(hash.clone())), Ok(hash));
        for bad in ["", "..", "../../x", &"g".repeat(32), &sha256_hex(b"x")] {
            assert!(NameHash::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
