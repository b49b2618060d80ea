//! Product files: bytes in the bucket, pointers in the table.

mod expected;
mod folder;
mod presign;

use std::time::Duration;

use bytes::Bytes;
use djinn_core::file::ProductFile;
use djinn_core::id::{FileName, sha256_hex};
use djinn_core::tool::ToolState;
use djinn_runtime::port::file::{Files, NewFile, has_rows, numbered_names};
use djinn_runtime::port::file_url::Folder;
use djinn_runtime::port::{SessionKey, StoreError};
use djinn_runtime::settings::to_millis;

use crate::item::expected_file::ExpectedFileItem;
use crate::item::file::FileItem;
use crate::key::{EXPECTED, FILE, session_partition};
use crate::query::Query;
use crate::query::after_prefix;
use crate::store::AwsStore;

pub(crate) use folder::all_prefixes;
pub(crate) use folder::object_key;

/// Prefix of objects written through Djinn, named by hash.
pub(crate) const WRITTEN: &str = "files/";

/// Prefix of objects uploaded by clients, named by purpose because the hash is unknown.
pub(crate) const UPLOADED: &str = "uploads/";

/// Prefix of temporary objects for the sandbox, with random names, deleted after the transfer.
pub(crate) const IN_TRANSIT: &str = "sandbox/";

impl Files for AwsStore {
    async fn write_file(
        &self,
        session: &SessionKey,
        file: &NewFile,
        bytes: &[u8],
    ) -> Result<ProductFile, StoreError> {
        let object = format!("{WRITTEN}{}", sha256_hex(bytes));
        let key = object_key(&Folder::from(session), &object)?;
        let has_rows = has_rows(&file.media_type, bytes);
        let item = self.file_item(session, file, object, bytes.len() as u64);
        let mut item = FileItem { has_rows, ..item };
        self.put_object(&key, Bytes::copy_from_slice(bytes), &file.media_type).await?;
        let now_s = self.now_ms().div_euclid(1000);
        let condition = FileItem::replace_condition(item.guest.as_ref(), now_s);
        for name in numbered_names(&file.name) {
            item.name = name;
            if self.put_item_if(item.to_item(session)?, &condition).await? {
                return Ok(item.into_file());
            }
        }
        Err(no_free_name(&file.name))
    }

    async fn find_file(
        &self,
        session: &SessionKey,
        name: &FileName,
    ) -> Result<Option<ProductFile>, StoreError> {
        let file = self.get_item(FileItem::key(session, name));
        let expected_file = self.get_item(ExpectedFileItem::key(session, name));
        let (file, expected_file) = tokio::try_join!(file, expected_file)?;
        let items = file.into_iter().chain(expected_file).collect();
        // An uploaded file may have a new name by now.
        Ok(self.resolve_files(session, items).await?.into_iter().rfind(|file| file.name == *name))
    }

    async fn find_arrived(
        &self,
        session: &SessionKey,
        announced_files: &[ProductFile],
    ) -> Result<Vec<ProductFile>, StoreError> {
        let objects: Vec<&str> = announced_files.iter().map(|file| file.object.as_str()).collect();
        if self.find_uploaded(session, &objects).await?.is_empty() {
            return Ok(Vec::new());
        }
        let files = self.list_files(session).await?;
        let is_there = |file: &&ProductFile| files.iter().any(|other| other.object == file.object);
        Ok(announced_files.iter().filter(is_there).cloned().collect())
    }

    async fn list_files(&self, session: &SessionKey) -> Result<Vec<ProductFile>, StoreError> {
        let query = Query::range(session_partition(session), EXPECTED, after_prefix(FILE));
        self.resolve_files(session, self.query_items(query).await?).await
    }

    async fn write_state(
        &self,
        session: &SessionKey,
        bytes: &[u8],
    ) -> Result<ToolState, StoreError> {
        let object = format!("{WRITTEN}{}", sha256_hex(bytes));
        let key = object_key(&Folder::from(session), &object)?;
        self.put_object(&key, Bytes::copy_from_slice(bytes), "application/octet-stream").await?;
        Ok(ToolState { object, size: bytes.len() as u64, owner: None })
    }

    async fn read_state(
        &self,
        session: &SessionKey,
        state: &ToolState,
    ) -> Result<Vec<u8>, StoreError> {
        self.read_bytes(session, &state.object, state.size, state.size).await
    }

    async fn read_file(
        &self,
        session: &SessionKey,
        file: &ProductFile,
        limit: u64,
    ) -> Result<Vec<u8>, StoreError> {
        self.read_bytes(session, &file.object, file.size, limit).await
    }
}

impl AwsStore {
    /// Reads the first `limit` bytes of an object, and verifies the hash if these are all of its `size`.
    async fn read_bytes(
        &self,
        session: &SessionKey,
        object: &str,
        size: u64,
        limit: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let key = object_key(&Folder::from(session), object)?;
        let bytes = self.get_object(&key, Some(limit.min(size))).await?;
        let expected_hash = object.strip_prefix(WRITTEN).filter(|_| limit >= size);
        if expected_hash.is_some_and(|hash| sha256_hex(&bytes) != hash) {
            return Err(StoreError::Unreadable(format!("object {key} is not what was written")));
        }
        Ok(bytes)
    }

    /// Creates the item of a new file.
    fn file_item(
        &self,
        session: &SessionKey,
        file: &NewFile,
        object: String,
        size: u64,
    ) -> FileItem {
        let now_ms = self.now_ms();
        FileItem {
            name: file.name.clone(),
            description: file.description.clone(),
            size,
            internal: file.internal,
            media_type: file.media_type.clone(),
            object,
            has_rows: None,
            uploaded: file.uploaded,
            guest: (file.writer != session.owner).then(|| file.writer.clone()),
            written_at_ms: now_ms,
            expires: self.file_expiry(now_ms),
        }
    }

    /// Returns the expiry of a file with bytes written at the given time, in Unix seconds. The file expires
    /// before its bytes, by the lifetime of a URL.
    fn file_expiry(&self, written_at_ms: i64) -> i64 {
        let life = self.clients.settings.object_life.saturating_sub(MAX_URL_LIFE * 2);
        written_at_ms.saturating_add(to_millis(life)).div_euclid(1000)
    }
}

/// Returns the error for a name without a free variant: other users own all files with these names.
fn no_free_name(name: &FileName) -> StoreError {
    StoreError::Unavailable(format!("no free name for the file {name}"))
}

/// The longest time a URL may be valid: Lambda's credentials do not last longer.
const MAX_URL_LIFE: Duration = Duration::from_secs(12 * 60 * 60);
