//! URLs that clients read and write files by, without passing through a function.

mod disposition;

use std::time::Duration;

use djinn_core::file::ProductFile;
use djinn_core::id::{BadId, TenantId, sha256_hex};

use super::file::NewFile;
use super::{SessionKey, StoreError};

/// Files of a session that were announced and may still be uploaded, at most. Each listing looks for all of
/// them.
pub const MAX_ANNOUNCED: u32 = 100;

/// Letters of a hash that stands for a name.
const HASH_LETTERS: usize = 32;

/// The hash that stands for a name where the name itself is not to be read: 32 hexadecimal digits, the first
/// of its SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameHash(String);

impl NameHash {
    /// The hash of a name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let mut hash = sha256_hex(name.as_bytes());
        hash.truncate(HASH_LETTERS);
        Self(hash)
    }

    /// Its digits, in small letters.
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

/// The place that holds a session's files. It says whose they are to nobody who does not know it: a label
/// may be `..` besides, and too long for the names of the local store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// The tenant is the first part of every key in the folder, and is not hashed.
    pub tenant: TenantId,
    /// The hash of the session's owner.
    pub owner: NameHash,
    /// The hash of its label.
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

/// What a browser does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// The browser shows the file itself, if it can.
    Inline,
    /// Saves it under its name.
    Attachment,
}

/// The beginning of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStart {
    /// As many of its first bytes as were wanted.
    pub bytes: Vec<u8>,
    /// The size of the whole content in bytes.
    pub size: u64,
}

/// A URL to upload a file to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresignedPut {
    /// Takes one `PUT` of the announced size. Holds a signature: not to be logged.
    pub url: String,
    /// Headers that the request must have; a browser adds `content-length` itself.
    pub headers: Vec<(String, String)>,
    /// The file as it will be.
    pub file: ProductFile,
}

/// URLs of files. Needs `s3:GetObject` and `PutObject` under the tenants' `files/` and `uploads/`,
/// `s3:ListBucket`, and `dynamodb:GetItem`, `Query` and `PutItem` on the table.
pub trait FileUrls {
    /// A URL that anybody may read a file by, at most 12 hours and no longer than the function's
    /// own credentials last. It makes no request.
    ///
    /// # Errors
    /// `Unreadable` for a file that names no object of a session's, `Unavailable` without
    /// credentials.
    fn presign_get(
        &self,
        folder: &Folder,
        file: &ProductFile,
        disposition: Disposition,
        valid_for: Duration,
    ) -> impl Future<Output = Result<String, StoreError>> + Send;

    /// The first `limit` bytes of a file, and its size; `None` once its bytes are gone, which happens with its
    /// session or when it expires. Needs no record of the file, so that an earlier content is read as well.
    ///
    /// # Errors
    /// `Unreadable` for a file that names no object of a session's, `Unavailable`.
    fn read_start(
        &self,
        folder: &Folder,
        file: &ProductFile,
        limit: u64,
    ) -> impl Future<Output = Result<Option<FileStart>, StoreError>> + Send;

    /// A URL to upload a file of exactly this size to, once. The file is there, for
    /// `list_files`, `find_file` and `load_session`, as soon as its bytes are; until then one of
    /// its name stays what it is. Its name is chosen as `write_file` does; if someone else's file takes
    /// that name before the bytes arrive, the next free name is used. `None` while [`MAX_ANNOUNCED`]
    /// others of the session are waited for.
    ///
    /// # Errors
    /// `Unavailable`, or `TooLarge` for a description that is.
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
