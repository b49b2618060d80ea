//! Product files: bytes in the bucket, pointers in the table.

mod disposition;
mod expected;
mod presign;

use std::time::Duration;

use bytes::Bytes;
use djinn_core::file::{ProductFile, has_rows};
use djinn_core::id::{FileName, sha256};
use djinn_runtime::port::StoreError;
use djinn_runtime::port::file::{Files, NewFile};
use djinn_runtime::port::journal::SessionKey;
use djinn_runtime::settings::milliseconds;

use crate::item::expected_file::ExpectedFileItem;
use crate::item::file::FileItem;
use crate::query::Query;
use crate::query::after_family;
use crate::store::AwsStore;
use crate::table::{EXPECTED, FILE, session_partition, short_hash, user_hash};

pub use disposition::Disposition;
pub use presign::{MAX_ANNOUNCED, PresignedPut};

/// Bytes that were written through us: named by their hash.
const WRITTEN: &str = "files/";

/// Bytes that a client uploads: named by what they are for, since their hash is not known.
const UPLOADED: &str = "uploads/";

impl Files for AwsStore {
    async fn write_file(
        &self,
        session: &SessionKey,
        file: &NewFile,
        bytes: &[u8],
    ) -> Result<ProductFile, StoreError> {
        let object = format!("{WRITTEN}{}", sha256(bytes));
        let key = object_key(session, &object)?;
        let has_rows = has_rows(&file.media_type, bytes);
        let item = FileItem { has_rows, ..self.file_item(file, object, bytes.len() as u64) };
        self.put_object(&key, Bytes::copy_from_slice(bytes), &file.media_type).await?;
        self.put(item.to_item(session)?).await?;
        Ok(item.into_file())
    }

    async fn find_file(
        &self,
        session: &SessionKey,
        name: &FileName,
    ) -> Result<Option<ProductFile>, StoreError> {
        let file = self.get(FileItem::key(session, name));
        let expected = self.get(ExpectedFileItem::key(session, name));
        let (file, expected) = tokio::try_join!(file, expected)?;
        let items = file.into_iter().chain(expected).collect();
        Ok(self.settled_files(session, items).await?.pop())
    }

    async fn arrived(
        &self,
        session: &SessionKey,
        announced: &[ProductFile],
    ) -> Result<Vec<ProductFile>, StoreError> {
        let objects: Vec<&str> = announced.iter().map(|file| file.object.as_str()).collect();
        if self.uploaded(session, &objects).await?.is_empty() {
            return Ok(Vec::new());
        }
        let files = self.list_files(session).await?;
        let is_there = |file: &&ProductFile| files.iter().any(|known| known.object == file.object);
        Ok(announced.iter().filter(is_there).cloned().collect())
    }

    async fn list_files(&self, session: &SessionKey) -> Result<Vec<ProductFile>, StoreError> {
        let query = Query::range(session_partition(session), EXPECTED, after_family(FILE));
        self.settled_files(session, self.query(query).await?).await
    }

    async fn read_file(
        &self,
        session: &SessionKey,
        file: &ProductFile,
        limit: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let key = object_key(session, &file.object)?;
        let bytes = self.get_object(&key, Some(limit.min(file.size))).await?;
        let expected = file.object.strip_prefix(WRITTEN).filter(|_| limit >= file.size);
        if expected.is_some_and(|hash| sha256(&bytes) != hash) {
            return Err(StoreError::Unreadable(format!("object {key} is not what was written")));
        }
        Ok(bytes)
    }
}

impl AwsStore {
    /// A file that is written now.
    fn file_item(&self, file: &NewFile, object: String, size: u64) -> FileItem {
        let now_ms = self.now_ms();
        FileItem {
            name: file.name.clone(),
            description: file.description.clone(),
            size,
            internal: file.internal,
            media_type: file.media_type.clone(),
            object,
            has_rows: None,
            written_at_ms: now_ms,
            expires: self.file_expiry(now_ms),
        }
    }

    /// When a file expires whose bytes were written then, Unix seconds: before them, by as much as a
    /// URL to it may still be used.
    fn file_expiry(&self, written_at_ms: i64) -> i64 {
        let life = self.clients.settings.object_life.saturating_sub(MAX_URL_LIFE * 2);
        written_at_ms.saturating_add(milliseconds(life)).div_euclid(1000)
    }
}

/// The key of a session's object in the bucket: `<tenant>/files/<owner>/<session>/<sha256>`, or
/// `uploads`.
///
/// Owner and session stand there as hashes: a label may be `..`, and may be too long for the names of
/// the local store. A `ProductFile` names its object without tenant and session, so that none can
/// point into another's.
fn object_key(session: &SessionKey, object: &str) -> Result<String, StoreError> {
    let kind = [WRITTEN, UPLOADED].into_iter().find(|kind| object.starts_with(kind));
    let name = kind.and_then(|kind| object.strip_prefix(kind));
    match (kind, name) {
        (Some(kind), Some(name)) if is_hash(name) => {
            Ok(format!("{}{name}", object_prefix(session, kind)))
        }
        _ => Err(StoreError::Unreadable(format!("`{object}` names no object"))),
    }
}

fn object_prefix(session: &SessionKey, kind: &str) -> String {
    let SessionKey { tenant, owner, session } = session;
    format!("{tenant}/{kind}{}/{}/", user_hash(owner), short_hash(session.as_str()))
}

/// Where all objects of a session lie.
pub(crate) fn object_prefixes(session: &SessionKey) -> [String; 2] {
    [WRITTEN, UPLOADED].map(|kind| object_prefix(session, kind))
}

fn is_hash(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The longest time a URL may be valid: Lambda's credentials do not last longer.
const MAX_URL_LIFE: Duration = Duration::from_secs(12 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::sample;
    use djinn_core::id::{SessionId, UserId};

    #[test]
    fn an_objects_key_stays_within_its_tenant_and_session() {
        let hash = sha256(b"x");
        let key = object_key(&sample::session(), &format!("files/{hash}")).unwrap();
        assert!(key.starts_with("t/files/") && key.ends_with(&format!("/{hash}")), "{key}");
        let of_other = SessionKey { owner: UserId::new("b").unwrap(), ..sample::session() };
        assert_ne!(object_key(&of_other, &format!("files/{hash}")).unwrap(), key);
        let dots = SessionKey { session: SessionId::new("..").unwrap(), ..sample::session() };
        let other = object_key(&dots, &format!("uploads/{hash}")).unwrap();
        assert!(other.starts_with("t/uploads/") && !other.contains(".."), "{other}");
        for bad in ["", "files/", "files/../x", "t/files/s/x", "runs/x", &format!("x/{hash}")] {
            assert!(object_key(&sample::session(), bad).is_err(), "{bad}");
        }
    }
}
