//! Objects of the store passed to jobs by URL, with a cache per environment, and uploads of answers.

use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use djinn_runtime::port::payload::StoreRequest;
use djinn_runtime::port::sandbox::wire::{StoreHost, StoredContent};
use reqwest::{Client, StatusCode, redirect};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

/// Maximum bytes of cached objects on the disk of 1 GB, half of which a job may fill.
const MAX_KEPT: u64 = 400 * 1024 * 1024;
/// Timeouts of a connection and of a whole transfer. A job has 30 s of the function's 60.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(20);

/// The reason a transfer failed. No message contains the URL, because the URL grants access.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransferError {
    #[error("the store could not be reached: {0}")]
    Network(#[source] reqwest::Error),
    #[error("the store answered {0}")]
    Refused(StatusCode),
    #[error("an object is not what it was said to be")]
    Other,
    #[error("an object could not be kept: {0}")]
    Disk(#[from] io::Error),
}

impl From<reqwest::Error> for TransferError {
    fn from(error: reqwest::Error) -> Self {
        Self::Network(error.without_url())
    }
}

/// The environment's cache of objects, by the key in the job.
pub(crate) struct ObjectCache {
    folder: PathBuf,
}

impl ObjectCache {
    /// Creates a cache in this folder. The folder is created on first use.
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the bytes of an object, from the cache or the store. Caches the bytes if `keeps`.
    pub(crate) async fn read_object(
        &self,
        store: Option<&StoreHost>,
        object: &StoredContent,
        keeps: bool,
    ) -> Result<Vec<u8>, TransferError> {
        let path = self.path_of(&object.key)?;
        if let Ok(bytes) = fs::read(&path)
            && is_whole(object, &bytes)
        {
            return Ok(bytes);
        }
        let bytes = download(store, object).await?;
        if !is_whole(object, &bytes) {
            return Err(TransferError::Other);
        }
        if keeps {
            self.keep(&path, &bytes)?;
        }
        Ok(bytes)
    }

    fn path_of(&self, key: &str) -> Result<PathBuf, TransferError> {
        let is_hash = key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| self.folder.join(key)).ok_or(TransferError::Other)
    }

    fn keep(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        make_room(&self.folder, MAX_KEPT.saturating_sub(bytes.len() as u64))?;
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(bytes)?;
        file.persist(path)?;
        Ok(())
    }
}

/// Removes the oldest files of a folder until the rest has at most `most` bytes.
fn make_room(folder: &Path, most: u64) -> io::Result<()> {
    let mut objects = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let status = entry.metadata()?;
        objects.push((status.modified()?, status.len(), entry.path()));
    }
    objects.sort();
    let mut size: u64 = objects.iter().map(|(_, size, _)| size).sum();
    for (_, freed, path) in objects {
        if size <= most {
            break;
        }
        fs::remove_file(path)?;
        size -= freed;
    }
    Ok(())
}

/// Creates a client of the store, with names resolved only from the job. The client is created on demand,
/// because few jobs need a client.
fn build_client(store: Option<&StoreHost>) -> Result<Client, TransferError> {
    let builder = Client::builder()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TRANSFER_TIMEOUT);
    let Some(StoreHost { name, addresses }) = store else { return Ok(builder.build()?) };
    // The port comes from the URL.
    let addresses: Vec<_> = addresses.iter().map(|ip| SocketAddr::new(*ip, 0)).collect();
    Ok(builder.resolve_to_addrs(name, &addresses).build()?)
}

/// Uploads an object with a request signed elsewhere.
pub(crate) async fn put_object(
    store: Option<&StoreHost>,
    request: &StoreRequest,
    body: Vec<u8>,
) -> Result<(), TransferError> {
    let client = build_client(store)?;
    let upload = request.headers.iter().fold(client.put(&request.url), |upload, (name, value)| {
        // reqwest sets this header from the body.
        if name.eq_ignore_ascii_case("content-length") {
            upload
        } else {
            upload.header(name, value)
        }
    });
    let status = upload.body(body).send().await?.status();
    if status.is_success() { Ok(()) } else { Err(TransferError::Refused(status)) }
}

async fn download(
    store: Option<&StoreHost>,
    object: &StoredContent,
) -> Result<Vec<u8>, TransferError> {
    let mut response = build_client(store)?.get(&object.url).send().await?;
    if !response.status().is_success() {
        return Err(TransferError::Refused(response.status()));
    }
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if (bytes.len() + piece.len()) as u64 > object.size {
            return Err(TransferError::Other);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn is_whole(object: &StoredContent, bytes: &[u8]) -> bool {
    let hash =
        || Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    bytes.len() as u64 == object.size
        && object.sha256.as_ref().is_none_or(|expected| *expected == hash())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_objects_make_room_for_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b", "a", "c"] {
            fs::write(path(name), [0; 10]).unwrap();
        }
        make_room(folder.path(), 30).unwrap();
        assert!(path("b").exists());
        make_room(folder.path(), 15).unwrap();
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!((left, path("c").exists()), (1, true));
    }

    #[tokio::test]
    async fn what_is_kept_is_read_without_the_store_unless_it_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ObjectCache::new(folder.path().join("objects"));
        let key = "0a".repeat(32);
        cache.keep(&cache.path_of(&key).unwrap(), b"abc").unwrap();
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
        // Nobody listens there.
        let url = "http://127.0.0.1:9/object".to_owned();
        let object = StoredContent { url, size: 3, key: key.clone(), sha256: Some(sha256) };
        assert_eq!(cache.read_object(None, &object, true).await.unwrap(), b"abc");
        fs::write(cache.path_of(&key).unwrap(), b"abd").unwrap();
        let error = cache.read_object(None, &object, true).await.unwrap_err().to_string();
        assert!(error.starts_with("the store could not be reached"), "{error}");
        assert!(!error.contains("/object"), "{error}");
        let outside = StoredContent { key: "../x".to_owned(), ..object };
        let error = cache.read_object(None, &outside, true).await.unwrap_err();
        assert!(matches!(error, TransferError::Other), "{error}");
    }
}
