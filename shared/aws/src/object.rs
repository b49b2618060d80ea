//! Objects in the bucket: contents by their hash.

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::{ByteStream, DateTime};
use aws_sdk_s3::types::ChecksumAlgorithm;
use bytes::Bytes;
use djinn_core::id::sha256_hex;
use djinn_runtime::port::file_url::FileStart;
use djinn_runtime::port::{RunKey, StoreError};

use crate::body::{Body, MAX_INLINE, Pointer};
use crate::error::{AwsRequest, store_error};
use crate::key::tenant_prefix;
use crate::store::AwsStore;

/// Bodies that are fetched from the bucket at once.
pub(crate) const FETCHED_AT_ONCE: usize = 16;

/// Returns `None` for a part of a session that can never be read, so that the rest of the session is shown without it.
///
/// # Errors
/// A failure that may pass.
pub(crate) fn skip_unreadable<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Ok(part) => Ok(Some(part)),
        Err(error) if error.is_retryable() => Err(error),
        Err(error) => {
            tracing::warn!(%error, "a part of a session is left out");
            Ok(None)
        }
    }
}

impl AwsStore {
    /// A body that may be stored: long ones are in the bucket when this returns.
    pub(crate) async fn store_body(&self, run: &RunKey, json: String) -> Result<Body, StoreError> {
        if json.len() <= MAX_INLINE {
            return Ok(Body::Inline(json));
        }
        let pointer = pointer_to(run, &json);
        self.put_object(&pointer.object, json.into(), JSON).await?;
        Ok(Body::Spilled(pointer))
    }

    /// The object that holds the start of a round, which the children of the round share: written once by
    /// whoever creates them.
    pub(crate) async fn store_round_start(
        &self,
        run: &RunKey,
        json: String,
    ) -> Result<Pointer, StoreError> {
        let pointer = pointer_to(run, &json);
        let write = self.put_object(&pointer.object, json.into(), JSON);
        self.clients.round_starts.write_once(&pointer.object, write).await?;
        Ok(pointer)
    }

    /// The JSON of a body, wherever it is.
    pub(crate) async fn read_body(&self, body: Body) -> Result<String, StoreError> {
        let pointer = match body {
            Body::Inline(json) => return Ok(json),
            Body::Spilled(pointer) => pointer,
        };
        self.read_object_json(&pointer).await
    }

    /// The JSON in an object.
    pub(crate) async fn read_object_json(&self, pointer: &Pointer) -> Result<String, StoreError> {
        let bytes = self.get_object(&pointer.object, None).await?;
        if bytes.len() as u64 != pointer.length || sha256_hex(&bytes) != pointer.sha256 {
            return Err(unreadable_object(&pointer.object, "is not what was written"));
        }
        String::from_utf8(bytes).map_err(|_| unreadable_object(&pointer.object, "is not UTF-8"))
    }

    /// Writes an object under a key that names its content. One that is there already is written
    /// again: that is the same bytes, and its life in the bucket starts over.
    pub(crate) async fn put_object(
        &self,
        key: &str,
        bytes: Bytes,
        media_type: &str,
    ) -> Result<(), StoreError> {
        let put = self.clients.s3().await.put_object().bucket(self.bucket()).key(key);
        let put = put.content_type(media_type).checksum_algorithm(ChecksumAlgorithm::Sha256);
        match Box::pin(put.body(ByteStream::from(bytes)).send()).await {
            Ok(_) => Ok(()),
            Err(error) => Err(store_error(self.bucket_request("PutObject"), &error)),
        }
    }

    /// An object's bytes; with a limit, its first ones.
    pub(crate) async fn get_object(
        &self,
        key: &str,
        limit: Option<u64>,
    ) -> Result<Vec<u8>, StoreError> {
        if limit == Some(0) {
            return Ok(Vec::new());
        }
        let object = self.fetch_object(key, limit).await?;
        object.map(|object| object.bytes).ok_or_else(|| unreadable_object(key, "is gone"))
    }

    /// The first `limit` bytes of an object, one at least; `None` if it is not there.
    pub(crate) async fn get_object_start(
        &self,
        key: &str,
        limit: u64,
    ) -> Result<Option<FileStart>, StoreError> {
        self.fetch_object(key, Some(limit.max(1))).await
    }

    async fn fetch_object(
        &self,
        key: &str,
        limit: Option<u64>,
    ) -> Result<Option<FileStart>, StoreError> {
        let client = self.clients.s3().await;
        let range = limit.map(|limit| format!("bytes=0-{}", limit.saturating_sub(1)));
        let get = client.get_object().bucket(self.bucket()).key(key).set_range(range);
        let object = match Box::pin(get.send()).await {
            Ok(object) => object,
            Err(error) => {
                return match error.code() {
                    Some("NoSuchKey") => Ok(None),
                    // Nothing is in the range of an empty object.
                    Some("InvalidRange") => Ok(Some(FileStart { bytes: Vec::new(), size: 0 })),
                    _ => Err(store_error(self.bucket_request("GetObject"), &error)),
                };
            }
        };
        let size = object.content_range().and_then(total_size);
        match object.body.collect().await {
            Ok(bytes) => {
                let bytes = bytes.to_vec();
                Ok(Some(FileStart { size: size.unwrap_or(bytes.len() as u64), bytes }))
            }
            Err(error) => {
                let bucket = self.bucket();
                Err(StoreError::Unavailable(format!("GetObject on {bucket}: {error}")))
            }
        }
    }

    /// An object's size and when it was written, Unix milliseconds; `None` if it is not there.
    pub(crate) async fn head_object(&self, key: &str) -> Result<Option<ObjectHead>, StoreError> {
        let client = self.clients.s3().await;
        match Box::pin(client.head_object().bucket(self.bucket()).key(key).send()).await {
            Ok(head) => Ok(Some(ObjectHead::of(head.content_length(), head.last_modified()))),
            Err(SdkError::ServiceError(error)) if error.raw().status().as_u16() == 404 => Ok(None),
            Err(error) => Err(store_error(self.bucket_request("HeadObject"), &error)),
        }
    }

    /// The keys of all objects that begin with a prefix, and sort behind this one if there is one, with what
    /// is known of each.
    pub(crate) async fn list_objects(
        &self,
        prefix: &str,
        behind: Option<&str>,
    ) -> Result<Vec<(String, ObjectHead)>, StoreError> {
        let client = self.clients.s3().await;
        let (mut objects, mut start) = (Vec::new(), None);
        loop {
            let request = client.list_objects_v2().bucket(self.bucket()).prefix(prefix);
            let request = request.set_start_after(behind.map(str::to_owned));
            let page = match Box::pin(request.set_continuation_token(start.take()).send()).await {
                Ok(page) => page,
                Err(error) => {
                    return Err(store_error(self.bucket_request("ListObjectsV2"), &error));
                }
            };
            objects.extend(page.contents.unwrap_or_default().into_iter().filter_map(|object| {
                let head = ObjectHead::of(object.size, object.last_modified.as_ref());
                object.key.map(|key| (key, head))
            }));
            start = page.next_continuation_token;
            if start.is_none() {
                return Ok(objects);
            }
        }
    }

    /// Deletes an object; one that is gone already is no error.
    pub(crate) async fn delete_object(&self, key: &str) -> Result<(), StoreError> {
        let client = self.clients.s3().await;
        match Box::pin(client.delete_object().bucket(self.bucket()).key(key).send()).await {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some("NoSuchKey") => Ok(()),
            Err(error) => Err(store_error(self.bucket_request("DeleteObject"), &error)),
        }
    }

    pub(crate) fn bucket(&self) -> &str {
        &self.clients.settings.bucket
    }

    /// A request to the bucket, for error texts and logs.
    pub(crate) fn bucket_request(&self, operation: &'static str) -> AwsRequest<'_> {
        AwsRequest { operation, on: self.bucket() }
    }
}

const JSON: &str = "application/json";

/// The object that holds a JSON of a run.
fn pointer_to(run: &RunKey, json: &str) -> Pointer {
    let sha256 = sha256_hex(json.as_bytes());
    let object = format!("{}{sha256}", run_prefix(run));
    Pointer { object, sha256, length: json.len() as u64 }
}

/// Where the long records, messages and exchanges of a run and its children lie, and what was left of
/// those that were never written.
pub(crate) fn run_prefix(run: &RunKey) -> String {
    format!("{}runs/{}/", tenant_prefix(&run.tenant), run.run)
}

/// What is known of an object without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ObjectHead {
    pub(crate) size: u64,
    pub(crate) written_at_ms: i64,
}

impl ObjectHead {
    fn of(bytes: Option<i64>, written: Option<&DateTime>) -> Self {
        let size = bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default();
        let written_at_ms = written.and_then(|time| time.to_millis().ok()).unwrap_or_default();
        Self { size, written_at_ms }
    }
}

/// The size of a whole object, from the `Content-Range` of a part: `bytes 0-9/100`.
fn total_size(range: &str) -> Option<u64> {
    range.rsplit_once('/')?.1.parse().ok()
}

fn unreadable_object(object: &str, problem: &str) -> StoreError {
    StoreError::Unreadable(format!("object {object} {problem}"))
}
